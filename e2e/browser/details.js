// What is shown about one queue, one subject, findings and changes; and that the address leads there again.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, byCause, row, withReport } from './browser.js';

const report = answer('small', 'report');
const matrix = answer('small', 'matrix');
const causes = byCause(report.findings);

describe('the panel', () => {
    it('names all who may do something on a queue, how, and where that is written', () => withReport('small', {}, async (page) => {
        for (const { path } of report.queues) {
            await row(page, path).locator('.name').click();
            const held = matrix.cells.filter((cell) => cell.queue === path);
            for (const [verb, title] of [['submit', 'May submit'], ['administer', 'May administer']]) {
                const reported = page.locator('#panel-content section').filter({ has: page.locator('h3', { hasText: new RegExp(`^${title}`, 'u') }) });
                // Whoever holds it by name, or as everyone: the others hold it with everyone and are not repeated.
                const wanted = held.filter((cell) => cell.verb === verb && cell.everyone === (cell.subject.kind === 'Everyone'));
                assert.deepEqual((await reported.locator('.subject bdi').allInnerTexts()).sort(), wanted.map((cell) => cell.subject.name ?? 'everyone').sort(), `${path} ${verb}`);
                for (const cell of wanted.filter(({ inherited }) => inherited)) {
                    const item = reported.locator('li').filter({ has: page.locator(`.subject bdi:text-is("${cell.subject.name ?? 'everyone'}")`) });
                    assert.ok((await item.allInnerTexts()).some((text) => text.includes(`from ${cell.by.queue}`)), `${path} ${cell.subject.name}`);
                }
            }
        }
    }));

    it('tells of a subject where its rights begin, and on how many queues it has them', () => withReport('small', { at: 'view=subjects' }, async (page) => {
        for (const subject of report.subjects) {
            const name = subject.name ?? 'everyone';
            await page.locator(`#view-subjects th .subject.${subject.kind.toLowerCase()}`).filter({ has: page.locator(`bdi:text-is("${name}")`) }).click();
            const of = (verb) => matrix.cells.filter((cell) => cell.subject.kind === subject.kind && cell.subject.name === subject.name && cell.verb === verb).length;
            const reported = await page.locator('#panel-content h3 .number').allInnerTexts();
            assert.deepEqual(reported.map((text) => text.split(' ')[0]), [of('submit'), of('administer')].map(String), name);
        }
    }));

    it('goes on from a subject to a queue and back by the browser’s own button', () => withReport('small', {}, async (page) => {
        const chip = page.locator('#grid-queues .chip.user').first();
        const name = await chip.locator('bdi').innerText();
        await chip.click();
        assert.equal(await page.innerText('#panel-content h2'), name);
        const link = page.locator('#panel-content .holders .link').first();
        const path = await link.innerText();
        await link.click();
        assert.equal(await page.innerText('#panel-content h2'), path.split('.').at(-1));
        assert.equal(await row(page, path).getAttribute('aria-selected'), 'true');
        await page.goBack();
        assert.equal(await page.innerText('#panel-content h2'), name);
        await page.click('#close-panel');
        assert.equal(await page.innerText('#panel-content h2'), 'At a glance');
    }));

    it('keeps the focus where it was, or takes it when what had it is gone', () => withReport('small', { at: 'view=subjects' }, async (page) => {
        const link = page.locator('#view-subjects th .subject').nth(1);
        await link.focus();
        await page.keyboard.press('Enter');
        assert.ok(await link.evaluate((element) => element === document.activeElement));
        await page.locator('#panel-content .link').first().focus();
        await page.keyboard.press('Enter');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'panel');
    }));

    it('is what the address says, also of a queue that is shut at first', () => withReport('large', { at: 'view=matrix&queue=root.dept-31.team-4.job-2' }, async (page) => {
        assert.equal(await page.innerText('#panel-content h2'), 'job-2');
        assert.ok(await row(page, 'root.dept-31.team-4.job-2').isVisible());
        assert.equal(await page.getAttribute('#tab-matrix', 'aria-selected'), 'true');
    }));

    it('has the signs of the grid that is shown, and none beside a list', () => withReport('small', {}, async (page) => {
        assert.ok(await page.locator('.legend .chip').count() > 3 && await page.locator('.legend .mark').count() === 0);
        await page.click('#tab-matrix');
        assert.ok(await page.locator('.legend .mark').count() > 3 && await page.locator('.legend .chip').count() === 0);
        await page.click('#tab-subjects');
        assert.equal(await page.locator('.legend').count(), 0);
    }));

    it('says at a glance what is open to everyone', () => withReport('small', {}, async (page) => {
        const everyone = report.subjects.findIndex((subject) => subject.kind === 'Everyone');
        const starts = report.rights.find(({ subject, verb }) => subject === everyone && verb === 'submit').starts;
        const reported = page.locator('#panel-content section').filter({ has: page.locator('h3:text-is("Open to everyone")') });
        assert.deepEqual(await reported.locator('.link').allInnerTexts(), starts.map(({ queue }) => report.queues[queue].path));
    }));
});

describe('the lists', () => {
    it('tell every finding with its code, place and queue', () => withReport('small', { at: 'view=findings' }, async (page) => {
        const cards = await page.locator('#view-findings .card').allTextContents();
        assert.equal(cards.length, causes.length + report.withoutEffect.length);
        assert.ok(causes.length > 0 && causes.length < report.findings.length);
        causes.forEach((alike, index) => alike.forEach((finding) => {
            const number = alike.length > 1 && `${alike.length} findings`;
            const wanted = [finding.code, finding.severity, number, finding.message.replaceAll('`', ''), report.queues[finding.queue]?.path, finding.writtenIn?.name];
            wanted.filter(Boolean).forEach((text) => assert.ok(cards[index].includes(text), `${cards[index]} lacks ${text}`));
        }));
        assert.equal(await page.innerText('#tab-findings-number'), String(report.findings.length + report.withoutEffect.length));
        assert.equal(await page.locator('.figures dd').last().innerText(), await page.innerText('#tab-findings-number'), 'at a glance');
    }));

    it('tell when an object begins or ended', () => withReport('small', { at: 'view=findings' }, async (page) => {
        const [ended] = report.outside.filter(({ expired }) => expired);
        const card = page.locator('#view-findings .card', { hasText: ended.name }).last();
        assert.ok((await card.innerText()).includes(`ended ${ended.expiresAt.slice(0, 10)}`));
    }));

    it('tell every object without effect, with the reason', () => withReport('small', { at: 'view=findings' }, async (page) => {
        assert.deepEqual(report.withoutEffect.map(({ reason }) => reason).sort(), ['Expired', 'QueueNotFound']);
        const cards = (await page.locator('#view-findings .card').allInnerTexts()).slice(causes.length);
        report.withoutEffect.forEach(({ kind, name, queue, reason, message }, index) => {
            [`${kind} ${name}`, report.queues[queue]?.path, reason, message.replaceAll('`', '')].filter(Boolean)
                .forEach((text) => assert.ok(cards[index].includes(text), `${cards[index]} lacks ${text}`));
        });
    }));

    it('tell who may submit as others, at a glance too', () => withReport('small', { at: 'view=admission' }, async (page) => {
        const rows = await page.locator('#view-admission tbody tr').allInnerTexts();
        assert.deepEqual(rows.map((text) => text.split(/\s+/u)), [['bypassAuth', 'true', 'AdmissionPolicy', 'acme'], ['externalUsers', '^airflow$', 'AdmissionPolicy', 'acme']]);
        const found = report.findings.filter(({ writtenIn }) => writtenIn?.kind === 'AdmissionPolicy');
        assert.ok(found.length > 0);
        for (const list of ['#view-admission', '#panel-content']) {
            assert.ok((await page.locator(`${list} .card`).first().innerText()).includes(found[0].code), list);
        }
        // Each may act as anyone: the one who is named, and with bypassAuth everyone.
        assert.equal(await page.innerText('#tab-admission-number'), '2');
        assert.ok((await page.innerText('#panel-content')).includes('^airflow$'));
    }));

    it('tell every change: who, of what, when', () => withReport('small', { at: 'view=changes' }, async (page) => {
        const cards = await page.locator('#view-changes .card').allInnerTexts();
        assert.equal(cards.length, report.changes.length);
        report.changes.forEach((change, index) => {
            [change.kind, change.name, change.manager, change.time?.slice(0, 10), ...change.fields].filter(Boolean)
                .forEach((text) => assert.ok(cards[index].includes(text), `${cards[index]} lacks ${text}`));
        });
    }));
});
