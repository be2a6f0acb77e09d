// How it looks: light and dark, on paper, on a narrow screen, and to those who do not see it.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer, byCause, row, screenshot, search, violations, withReport } from './browser.js';

const report = answer('small', 'report');
const SCHEMES = ['light', 'dark'];
const VIEWS = ['queues', 'matrix', 'subjects', 'admission', 'findings', 'changes'];

const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

describe('the page', () => {
    for (const colorScheme of SCHEMES) {
        it(`has nothing that axe finds fault with, in any view, ${colorScheme}`, () => withReport('small', { colorScheme }, async (page) => {
            for (const view of VIEWS) {
                await page.click(`#tab-${view}`);
                assert.deepEqual(await violations(page), [], view);
            }
            await page.click('#tab-queues');
            await row(page, report.queues.at(-1).path).click();
            assert.deepEqual(await violations(page), [], 'a queue is chosen');
            await page.locator('#panel-content .subject').first().click();
            assert.deepEqual(await violations(page), [], 'a subject is chosen');
            await search(page, 'a');
            assert.deepEqual(await violations(page), [], 'something is searched for');
            await search(page, 'no such thing');
            assert.deepEqual(await violations(page), [], 'nothing is found');
        }));

        it(`is shown for 20 and for 5,000 queues, ${colorScheme}`, async () => {
            for (const size of ['small', 'large']) {
                await withReport(size, { colorScheme }, async (page) => {
                    for (const view of VIEWS) {
                        await page.click(`#tab-${view}`);
                        await screenshot(page, `${size}-${view}-${colorScheme}`);
                    }
                    await page.click('#tab-matrix');
                    await row(page, answer(size, 'report').queues[1].path).click();
                    await screenshot(page, `${size}-chosen-${colorScheme}`);
                });
            }
        });
    }

    it('follows the colours of the system, also while it is open', () => withReport('small', { colorScheme: 'light' }, async (page) => {
        assert.equal(await background(page), 'rgb(255, 255, 255)');
        await page.emulateMedia({ colorScheme: 'dark' });
        assert.notEqual(await background(page), 'rgb(255, 255, 255)');
    }));

    it('has all of it on white paper, whatever was shown', () => withReport('small', { colorScheme: 'dark', at: 'view=matrix' }, async (page) => {
        await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
        assert.equal(await background(page), 'rgb(255, 255, 255)');
        for (const hidden of ['#panel', '.search', '#tabs', '#tree-buttons', '#grid-matrix']) {
            assert.ok(!await page.isVisible(hidden), hidden);
        }
        for (const { path } of report.queues) {
            assert.ok(await page.locator(`#grid-queues .name[title="${path}"]`).isVisible(), path);
        }
        assert.equal(await page.locator('#view-queues .more').count(), 0, 'all names are printed');
        assert.equal(await page.locator('#view-subjects tbody tr').count(), report.subjects.length);
        assert.equal(await page.locator('#view-findings .card:visible').count(), byCause(report.findings).length + report.withoutEffect.length);
        await screenshot(page, 'small-paper', { fullPage: true });
        await page.emulateMedia({ media: 'screen' });
        assert.ok(await page.isVisible('#grid-matrix') && !await page.isVisible('#grid-queues'));
    }));

    it('prints as many open queues as a browser can break into sheets, and says that there are more', () => withReport('large', {}, async (page) => {
        await page.click('#open-all');
        const pdf = await page.pdf({ format: 'A4' });
        const pages = pdf.toString('latin1').match(/\/Type\s*\/Page\b/gu).length;
        assert.ok(pages > 10, `${pages} pages`);
        await page.emulateMedia({ media: 'print' });
        assert.equal(await page.innerText('#not-printed'), '4,000 more queues not printed: search for what you need, or close what you do not.');
    }));

    for (const colorScheme of SCHEMES) {
        it(`stacks its columns at 600 pixels, ${colorScheme}`, () => withReport('small', { colorScheme, viewport: { width: 600, height: 800 } }, async (page) => {
            for (const view of VIEWS) {
                await page.click(`#tab-${view}`);
                const wider = await page.evaluate(() => [document.documentElement, ...document.querySelectorAll('.view:not(.away), #grid-queues')].filter((part) => part.clientWidth > 0 && part.scrollWidth > part.clientWidth).length);
                assert.equal(wider, 0, `${view} is wider than the screen`);
                assert.deepEqual(await violations(page), [], view);
                await screenshot(page, `small-${view}-600-${colorScheme}`);
            }
            await page.click('#tab-queues');
            const [queue, submit, admin] = await Promise.all(['.tree', '.submit', '.admin'].map((column) => row(page, report.queues[1].path).locator(column).boundingBox()));
            assert.ok(queue.y < submit.y && submit.y < admin.y);
            await page.click('#open-panel');
            assert.equal(await page.innerText('#panel-content h2'), 'At a glance');
            await page.click('#close-panel');
            assert.ok(!await page.isVisible('#panel'));
        }));
    }

    it('can be used on a narrow screen', () => withReport('small', { viewport: { width: 420, height: 800 } }, async (page) => {
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'the page is not wider than the screen');
        await row(page, report.queues[1].path).click();
        assert.ok(await page.isVisible('#panel'));
        await screenshot(page, 'small-narrow');
        await page.click('#close-panel');
        assert.ok(!await page.isVisible('#panel'));
    }));
});
