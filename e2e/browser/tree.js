// The tree of queues: open and shut, by the mouse and by the keyboard.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, focused, paths, row, withReport } from './browser.js';

const report = answer('small', 'report');
const all = report.queues.map((queue) => queue.path);
const parent = report.queues.find((queue) => !queue.leaf && queue.parent !== null);
const below = all.filter((path) => path.startsWith(`${parent.path}.`));

describe('the tree', () => {
    it('shows all of a small tree at once, in the order of the report', () => withReport('small', {}, async (page) => {
        assert.deepEqual(await paths(page), all);
        assert.equal(await page.getAttribute('#grid-queues', 'aria-rowcount'), String(all.length + 1));
    }));

    it('says of each row where it stands', () => withReport('small', {}, async (page) => {
        for (const queue of report.queues) {
            const beside = report.queues.filter((other) => other.parent === queue.parent);
            const said = await row(page, queue.path).evaluate((element) => ['level', 'setsize', 'posinset', 'expanded'].map((what) => element.getAttribute(`aria-${what}`)));
            const expected = [queue.path.split('.').length, beside.length, beside.indexOf(queue) + 1].map(String);
            assert.deepEqual(said, [...expected, queue.leaf ? null : 'true'], queue.path);
        }
    }));

    it('closes and opens by a click on the twisty', () => withReport('small', {}, async (page) => {
        await row(page, parent.path).locator('.twisty').click();
        assert.deepEqual(await paths(page), all.filter((path) => !below.includes(path)));
        assert.equal(await row(page, parent.path).getAttribute('aria-expanded'), 'false');
        assert.equal(await row(page, parent.path).locator('.below').textContent(), `${below.length} queues below`);
        await row(page, parent.path).locator('.twisty').click();
        assert.deepEqual(await paths(page), all);
    }));

    it('closes and opens all', () => withReport('small', {}, async (page) => {
        await page.click('#close-all');
        assert.deepEqual(await paths(page), ['root', ...report.queues.filter((queue) => queue.parent === 0).map((queue) => queue.path)]);
        await page.click('#open-all');
        assert.deepEqual(await paths(page), all);
    }));

    it('is walked through with the arrows', () => withReport('small', {}, async (page) => {
        await row(page, 'root').focus();
        await page.keyboard.press('ArrowDown');
        assert.deepEqual(await focused(page), { queue: all[1], column: null });
        await page.keyboard.press('End');
        assert.deepEqual(await focused(page), { queue: all.at(-1), column: null });
        await page.keyboard.press('Home');
        assert.deepEqual(await focused(page), { queue: 'root', column: null });
        // Left closes what is open, right opens it, and then goes into the cells; left comes back.
        await page.keyboard.press('ArrowLeft');
        assert.deepEqual(await paths(page), ['root']);
        await page.keyboard.press('ArrowRight');
        assert.deepEqual(await paths(page), all);
        await page.keyboard.press('ArrowRight');
        assert.deepEqual(await focused(page), { queue: 'root', column: '0' });
        await page.keyboard.press('ArrowDown');
        assert.deepEqual(await focused(page), { queue: all[1], column: '0' });
        await page.keyboard.press('ArrowLeft');
        assert.deepEqual(await focused(page), { queue: all[1], column: null });
    }));

    it('goes from a leaf to the queue above it, and opens all beside one with *', () => withReport('small', {}, async (page) => {
        const leaf = report.queues.find((queue) => queue.leaf && queue.parent === all.indexOf(parent.path));
        await row(page, leaf.path).focus();
        await page.keyboard.press('ArrowLeft');
        assert.equal((await focused(page)).queue, parent.path);
        await page.click('#close-all');
        await row(page, parent.path).click();
        await page.keyboard.press('*');
        const shown = report.queues.filter((queue) => queue.path.split('.').length <= 3).map((queue) => queue.path);
        assert.deepEqual(await paths(page), shown);
    }));

    it('has one place that Tab comes to', () => withReport('small', {}, async (page) => {
        assert.equal(await page.locator('#grid-queues [tabindex="0"]').count(), 1);
        await row(page, all[3]).click();
        assert.equal(await page.locator('#grid-queues [tabindex="0"]').count(), 1);
        await page.keyboard.press('Shift+Tab');
        await page.keyboard.press('Tab');
        assert.equal((await focused(page)).queue, all[3]);
    }));

    it('changes views with the arrows on the tabs, and shortens the way to the search to /', () => withReport('small', {}, async (page) => {
        await page.locator('#tab-queues').focus();
        await page.keyboard.press('ArrowRight');
        assert.equal(await page.getAttribute('#tab-matrix', 'aria-selected'), 'true');
        assert.ok(await page.isVisible('#grid-matrix') && !await page.isVisible('#grid-queues'));
        await page.keyboard.press('ArrowLeft');
        await page.keyboard.press('ArrowLeft');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'tab-changes');
        await page.keyboard.press('/');
        assert.equal(await page.evaluate(() => document.activeElement.id), 'search');
    }));
});
