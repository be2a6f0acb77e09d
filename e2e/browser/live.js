// The live page, served by a small server here: it shows what it receives, and says so when it receives nothing.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import { answer, file, paths, row, screenshot, violations, withPage } from './browser.js';

/** Serves the small page as a live one; `state` is what it answers. */
async function serving(run) {
    const report = { ...answer('small', 'report'), live: { url: 'report.json', seconds: 1, notes: [], stale: null } };
    const state = { report, status: 200, asked: [] };
    const server = createServer((request, response) => {
        if (request.url === '/') {
            const json = JSON.stringify(report).replace(/[<>&]/gu, (char) => `\\u00${char.charCodeAt(0).toString(16)}`);
            const html = file('small.html').replace(/(id="report">).*?(<\/script>)/su, (_, before, behind) => before + json + behind);
            response.setHeader('Content-Type', 'text/html');
            response.end(html);
            return;
        }
        const text = JSON.stringify(state.report);
        const tag = `"${text.length}"`;
        const same = request.headers['if-none-match'] === tag;
        const status = state.status !== 200 ? state.status : same ? 304 : 200;
        state.asked.push(status);
        response.writeHead(status, { ETag: tag, 'Content-Type': 'application/json' });
        response.end(status === 200 ? text : undefined);
    });
    await new Promise((done) => { server.listen(0, '127.0.0.1', done); });
    const url = `http://127.0.0.1:${server.address().port}/`;
    try {
        await withPage(url, { allowed: [`${url}report.json`], expected: /Failed to load resource/u }, (page) => run(page, state, server));
    } finally {
        server.closeAllConnections?.();
        server.close();
    }
}

const says = (page, words) => page.waitForFunction((wanted) => document.getElementById('live').textContent.includes(wanted), words);

describe('the live page', () => {
    it('follows its report, and stays where the reader is', () => serving(async (page, state) => {
        const { queues } = state.report;
        const parent = queues.find((queue) => !queue.leaf && queue.parent !== null);
        await row(page, parent.path).locator('.twisty').click();
        await row(page, queues[1].path).locator('.name').click();
        const report = structuredClone(state.report);
        const path = `${queues[0].path}.brand-new`;
        report.queues.push({ path, parent: 0, end: queues.length + 1, leaf: true, recovery: false, submit: null, admin: null });
        report.queues[0].end += 1;
        state.report = report;
        await row(page, path).waitFor();
        assert.equal(await row(page, parent.path).getAttribute('aria-expanded'), 'false');
        assert.equal(await page.innerText('#panel-content h2'), queues[1].path.split('.').at(-1));
        assert.equal(await row(page, queues[1].path).evaluate((element) => element === document.activeElement), true);
        await says(page, 'Live');
    }));

    it('asks only for what is new', () => serving(async (page, state) => {
        const shown = await paths(page);
        await page.waitForFunction(() => performance.getEntriesByType('resource').length >= 3);
        assert.equal(state.asked[0], 200);
        assert.ok(state.asked.slice(1).every((status) => status === 304), state.asked.join());
        assert.deepEqual(await paths(page), shown);
    }));

    it('says what is missing, and what is old', () => serving(async (page, state) => {
        const shown = await paths(page);
        const why = 'This is from 2026-11-23T12:00:00Z: `x` <b>fails</b>';
        state.report = { ...state.report, live: { ...state.report.live, notes: ['QueueAcls may not be read'], stale: why } };
        await says(page, 'Not updated');
        assert.deepEqual(await page.locator('#notes p').allInnerTexts(), [why.replaceAll('`', ''), 'QueueAcls may not be read']);
        assert.deepEqual(await violations(page), []);
        await screenshot(page, 'live-old');
        await page.waitForFunction((asked) => performance.getEntriesByType('resource').length > asked, state.asked.length + 1);
        assert.deepEqual([state.asked.at(-1), await page.innerText('#live')], [304, 'Not updated']);
        state.report = { ...state.report, live: { ...state.report.live, notes: [], stale: null } };
        await says(page, 'Live');
        assert.equal(await page.isVisible('#notes'), false);
        assert.deepEqual(await paths(page), shown);
    }));

    it('says when it is refused or alone, and keeps what it has', () => serving(async (page, state, server) => {
        const shown = await paths(page);
        state.status = 503;
        await says(page, 'answers 503');
        state.status = 200;
        await says(page, 'Live');
        assert.equal(await page.isVisible('#notes'), false);
        server.closeAllConnections?.();
        server.close();
        await says(page, 'does not answer');
        assert.deepEqual(await paths(page), shown);
    }));
});
