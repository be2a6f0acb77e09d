// The cells of the matrix are the evaluator's: `queuewarden matrix -o json` says the same about every one of them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, focused, row, screenshot, withReport } from './browser.js';

/** The cells that are drawn, as texts in the order of queue, subject and verb. */
function drawn(page) {
    return page.evaluate(() => {
        const subjects = new Map([...document.querySelectorAll('#grid-matrix .head .subject')].map((head) => [head.dataset.subject, head]));
        const kind = (head) => ['user', 'group', 'everyone'].find((each) => head.classList.contains(each));
        const cells = [...document.querySelectorAll('#grid-matrix .body .column')];
        return cells.map((cell) => {
            const head = subjects.get(cell.dataset.subject);
            const marks = [...cell.querySelectorAll('.mark:not(.none)')].map((mark) => {
                const has = (name) => mark.classList.contains(name);
                return { verb: has('submit') ? 'submit' : 'administer', inherited: has('inherited'), throughAdmin: has('submit') && has('adminacl'), everyone: has('everyone') };
            });
            return { queue: cell.closest('.row').querySelector('.name').title, subject: `${kind(head)}:${head.title}`, marks, label: cell.querySelector('.unseen')?.textContent ?? '' };
        });
    });
}

/** What the evaluator says of each cell, by queue and subject. */
function evaluated(report) {
    const cells = new Map();
    for (const { subject, queue, verb, inherited, throughAdmin, everyone, by } of answer(report, 'matrix').cells) {
        const key = `${queue} ${subject.kind.toLowerCase()}:${subject.name ?? 'everyone'}`;
        cells.set(key, [...(cells.get(key) ?? []), { verb, inherited, throughAdmin, everyone, by: by.queue }]);
    }
    return cells;
}

const byVerb = (left, right) => (left.verb < right.verb ? 1 : -1);

/** Compares the drawn cells; how many there are. */
async function compare(page, expected, seen = new Set()) {
    for (const { queue, subject, marks, label } of await drawn(page)) {
        const key = `${queue} ${subject}`;
        const wanted = (expected.get(key) ?? []).sort(byVerb);
        assert.deepEqual(marks.sort(byVerb), wanted.map(({ by, ...rest }) => rest), key);
        for (const { verb, inherited, by } of wanted) {
            assert.ok(label.includes(inherited ? `${verb}, inherited from ${by}` : verb), `${key}: ${label}`);
        }
        assert.equal(label === '', wanted.length === 0, key);
        seen.add(key);
    }
    return seen;
}

describe('the matrix', () => {
    it('has every cell of the evaluator, and no other', () => withReport('small', { at: 'view=matrix', viewport: { width: 4000, height: 1200 } }, async (page) => {
        const { queues, subjects, cells } = answer('small', 'matrix');
        const seen = await compare(page, evaluated('small'));
        assert.equal(seen.size, queues.length * subjects.length);
        // A matrix in which every kind of cell occurs, or the comparison says little.
        for (const what of ['inherited', 'throughAdmin', 'everyone']) {
            assert.ok(cells.some((cell) => cell[what]) && cells.some((cell) => !cell[what]), what);
        }
    }));

    it('has the evaluator’s cells wherever 5,000 queues are scrolled to', () => withReport('large', { at: 'view=matrix' }, async (page) => {
        await page.click('#open-all');
        const expected = evaluated('large');
        const seen = new Set();
        for (let step = 0; step <= 12; step += 1) {
            await page.evaluate(async (part) => {
                const grid = document.querySelector('#grid-matrix');
                grid.scrollTop = (grid.scrollHeight - grid.clientHeight) * part;
                grid.scrollLeft = (grid.scrollWidth - grid.clientWidth) * ((part * 7) % 1);
                await new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); });
            }, step / 12);
            await compare(page, expected, seen);
        }
        assert.ok(seen.size > 5000, `${seen.size} cells`);
    }));

    it('is walked through cell by cell, also to what is not in view', () => withReport('large', { at: 'view=matrix' }, async (page) => {
        await row(page, 'root').focus();
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('End');
        const { subjects } = answer('large', 'matrix');
        assert.deepEqual(await focused(page), { queue: 'root', column: String(subjects.length - 1) });
        assert.ok(await page.evaluate(() => {
            const cell = document.activeElement.getBoundingClientRect();
            const grid = document.querySelector('#grid-matrix').getBoundingClientRect();
            return cell.left >= grid.left && cell.right <= grid.right;
        }), 'the cell with the focus is in view');
        await page.keyboard.press('Control+End');
        await page.keyboard.press('Home');
        assert.equal((await focused(page)).column, '0');
    }));

    it('keeps the place when it is scrolled away', () => withReport('large', { at: 'view=matrix' }, async (page) => {
        await page.click('#open-all');
        await row(page, 'root').focus();
        await page.keyboard.press('ArrowDown');
        const before = await focused(page);
        await page.evaluate(() => { document.querySelector('#grid-matrix').scrollTop = 50000; });
        await page.evaluate(() => new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(done)); }));
        assert.deepEqual(await focused(page), before);
        await page.keyboard.press('ArrowUp');
        assert.equal((await focused(page)).queue, 'root');
        assert.equal(await page.evaluate(() => document.querySelector('#grid-matrix').scrollTop), 0);
    }));

    it('tells of a cell what its subject may do there, and where that is written', () => withReport('small', { at: 'view=matrix' }, async (page) => {
        const cell = answer('small', 'matrix').cells.find(({ inherited, subject }) => inherited && subject.kind === 'User');
        const at = page.locator('#grid-matrix .body .row').filter({ has: page.locator(`.name[title="${cell.queue}"]`) });
        const column = await page.locator(`#grid-matrix .head .subject.user[title="${cell.subject.name}"]`).getAttribute('data-subject');
        await at.locator(`[data-subject="${column}"]`).click();
        const reported = await page.innerText('#panel-content section:first-of-type');
        assert.ok(reported.includes(cell.subject.name) && reported.includes(`${cell.verb}, inherited from ${cell.by.queue}`), reported);
        cell.by.origins.forEach(({ name }) => assert.ok(reported.includes(name), reported));
        await screenshot(page, 'cell');
    }));
});
