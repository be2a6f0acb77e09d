// 5,000 queues: interactive in under a second.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, paths, row, search, withReport } from './browser.js';

/** What is promised is one second on a quiet machine; a test may run beside others. */
const BOUND = 3000;
/** A frame that takes longer is felt. */
const STEP = 1000;

/** How long something takes in the page until it is painted, in milliseconds. The page's policy evaluates no text: the browser does. */
function took(page, action) {
    return page.evaluate(`(async () => {
        const painted = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
        await painted();
        const begin = performance.now();
        (${action})();
        await painted();
        return performance.now() - begin;
    })()`);
}

describe('5,000 queues', () => {
    const report = answer('large', 'report');

    it('are interactive in under a second', (test) => withReport('large', {}, async (page) => {
        assert.equal(report.queues.length, 5000);
        const ready = await page.evaluate(async () => {
            await new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });
            return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd;
        });
        const steps = {
            'a queue opened': () => document.querySelectorAll('#grid-queues .twisty')[1].click(),
            'all opened': () => document.getElementById('open-all').click(),
            'the middle': () => { document.getElementById('grid-queues').scrollTop = 80000; },
            searched: () => {
                document.getElementById('search').value = 'job-7';
                document.getElementById('search').dispatchEvent(new Event('input'));
            },
            'the matrix': () => document.getElementById('tab-matrix').click(),
            'its corner': () => document.getElementById('grid-matrix').scrollTo(1e6, 1e6),
            subjects: () => document.getElementById('tab-subjects').click(),
        };
        test.diagnostic(`ready ${ready.toFixed(0)} ms`);
        assert.ok(ready < BOUND, `ready after ${ready} ms`);
        for (const [what, action] of Object.entries(steps)) {
            const time = await took(page, action);
            test.diagnostic(`${what} ${time.toFixed(0)} ms`);
            assert.ok(time < STEP, `${what} took ${time} ms`);
        }
    }));

    it('are drawn only as far as they are seen', () => withReport('large', {}, async (page) => {
        await page.click('#open-all');
        await page.evaluate(() => { document.getElementById('grid-queues').scrollTop = 80000; });
        await page.waitForFunction(() => Number(document.querySelector('#grid-queues .body .row:nth-child(2)').dataset.row) > 2000);
        assert.ok((await paths(page)).length < 100);
        assert.ok(await page.evaluate(() => document.querySelectorAll('*').length) < 4000);
        await page.click('#tab-matrix');
        assert.ok(await page.evaluate(() => document.querySelectorAll('#grid-matrix *').length) < 10000);
    }));

    it('are open at first only so far that they can be taken in', () => withReport('large', {}, async (page) => {
        assert.equal(await page.getAttribute('#grid-queues', 'aria-rowcount'), String(2 + report.queues.filter((queue) => queue.parent === 0).length));
        const path = 'root.dept-31.team-4.job-2';
        await search(page, `queue:${path}`);
        assert.ok(await row(page, path).isVisible());
        assert.equal((await paths(page)).length, 4);
    }));
});
