// The search: by queue, user or group, in every view.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, byCause, focused, paths, row, search, withReport } from './browser.js';

const report = answer('small', 'report');
const all = report.queues.map((queue) => queue.path);
const user = report.subjects.findIndex((subject) => subject.kind === 'User');
const group = report.subjects.findIndex((subject) => subject.kind === 'Group');

/** These queues with those above them, in order. */
function withAbove(queues) {
    return all.filter((path) => queues.some((queue) => queue === path || queue.startsWith(`${path}.`)));
}

/** The queues whose own ACLs name a subject whose name has this in it. */
function naming(kind, text) {
    const named = (acl) => (acl?.entries ?? []).some((entry) => {
        const subject = report.subjects[entry.subject];
        return subject.kind === kind && subject.name.toLowerCase().includes(text.toLowerCase());
    });
    return report.queues.filter((queue) => named(queue.submit) || named(queue.admin)).map((queue) => queue.path);
}

describe('the search', () => {
    it('finds queues by their paths, shows what is above them, and marks what matches', () => withReport('small', {}, async (page) => {
        const wanted = all[4].split('.').at(-1);
        await search(page, `queue:${wanted.toUpperCase()}`);
        const found = all.filter((path) => path.includes(wanted));
        assert.deepEqual(await paths(page), withAbove(found));
        assert.ok((await page.locator('#grid-queues mark').allInnerTexts()).includes(wanted));
        assert.match(await page.innerText('#found'), new RegExp(`^${found.length} queue`, 'u'));
    }));

    it('finds users and groups by the ACLs that name them', () => withReport('small', {}, async (page) => {
        for (const [kind, number] of [['User', user], ['Group', group]]) {
            const { name } = report.subjects[number];
            await search(page, `${kind.toLowerCase()}:${name}`);
            assert.deepEqual(await paths(page), withAbove(naming(kind, name)), name);
            assert.match(await page.innerText('#found'), /^0 queues, \d+ subject/u);
        }
    }));

    it('leaves of the matrix what matches on either axis', () => withReport('small', { at: 'view=matrix' }, async (page) => {
        const columns = () => page.$$eval('#grid-matrix .head .subject', (heads) => heads.map((head) => head.title));
        const everything = await columns();
        await search(page, `user:${report.subjects[user].name}`);
        assert.ok((await columns()).every((name) => name.includes(report.subjects[user].name)));
        assert.deepEqual(await paths(page), all);
        await search(page, `queue:${all[1]}`);
        assert.deepEqual(await columns(), everything);
        assert.deepEqual(await paths(page), withAbove(all.filter((path) => path.includes(all[1]))));
    }));

    it('leaves of the lists what matches', () => withReport('small', { at: 'view=findings' }, async (page) => {
        const cards = () => page.locator('#view-findings .card').count();
        assert.equal(await cards(), byCause(report.findings).length + report.withoutEffect.length);
        const [{ code }] = report.findings;
        await search(page, code.toLowerCase());
        assert.equal(await cards(), byCause(report.findings.filter((finding) => finding.code === code)).length);
        await page.click('#tab-subjects');
        await search(page, report.subjects[group].name);
        assert.ok((await page.locator('#view-subjects tbody th').allInnerTexts()).every((text) => text.includes(report.subjects[group].name)));
    }));

    it('says when there is nothing, and ends with Escape', () => withReport('small', {}, async (page) => {
        await search(page, 'no such thing');
        assert.deepEqual(await paths(page), []);
        assert.ok(await page.isVisible('#no-rows'));
        assert.match(await page.innerText('#found'), /No queue and no subject/u);
        await page.keyboard.press('Escape');
        assert.deepEqual(await paths(page), all);
        assert.equal(await page.inputValue('#search'), '');
    }));

    it('is left for the first queue that it found with Enter', () => withReport('small', {}, async (page) => {
        const wanted = all.at(-1);
        await page.keyboard.press('/');
        await page.keyboard.type(`queue:${wanted}`);
        await page.keyboard.press('Enter');
        assert.equal((await focused(page)).queue, wanted);
    }));

    it('finds what is in a queue that is shut', () => withReport('small', {}, async (page) => {
        await page.click('#close-all');
        const deep = all.find((path) => path.split('.').length > 2);
        await search(page, `queue:${deep}`);
        assert.ok(await row(page, deep).isVisible());
    }));
});
