// The browser and the pages that the tests look at.
//
// QUEUEWARDEN_REPORTS is the directory with the reports that the built binary wrote; CHROMIUM the browser; QUEUEWARDEN_SCREENSHOTS where
// pictures go. Every page that is closed is asked whether it was well: no error, and no request but for itself.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser;

/** What the end-to-end tests say. */
export function needed(variable) {
    const value = process.env[variable];
    assert.ok(value, `${variable} is not set: these tests are run by the end-to-end tests (cargo test --test e2e -- page)`);
    return value;
}

/** Ends the browser. */
export async function end() {
    await browser?.close();
}

/** The address of a report's page. */
export function address(report) {
    return pathToFileURL(join(needed('QUEUEWARDEN_REPORTS'), `${report}.html`)).href;
}

/** A file beside the reports. */
export function file(name) {
    return readFileSync(join(needed('QUEUEWARDEN_REPORTS'), name), 'utf8');
}

/** What a command said about the same queues: `report`, `matrix`. */
export function answer(report, command) {
    return JSON.parse(file(`${report}.${command}.json`));
}

/** Findings in lists of those with one cause, each of which is one card. */
export function byCause(findings) {
    const cause = ({ severity, code, help }) => `${severity} ${code} ${help}`;
    return [...new Set(findings.map(cause))].map((one) => findings.filter((finding) => cause(finding) === one));
}

/**
 * Opens a page and runs a test on it. `at` is what stands behind `#`, `expected` the errors that it may tell; other options are the browser's.
 */
export async function withPage(url, { at = '', expected = null, ...options }, run) {
    browser ??= await chromium.launch({ executablePath: needed('CHROMIUM') });
    const context = await browser.newContext({ viewport: { width: 1360, height: 800 }, ...options });
    const page = await context.newPage();
    const [errors, requests] = [[], []];
    page.on('pageerror', (error) => errors.push(error.stack ?? String(error)));
    page.on('console', (message) => errors.push(`console: ${message.text()}`));
    page.on('dialog', (dialog) => {
        errors.push(`dialog: ${dialog.message()}`);
        return dialog.dismiss();
    });
    page.on('request', (request) => requests.push(request.url().split('#')[0]));
    try {
        await page.goto(`${url}${at && `#${at}`}`);
        await run(page);
        const foreign = requests.filter((request) => request !== url && !request.startsWith('data:'));
        assert.deepEqual({ errors: errors.filter((error) => !expected?.test(error)), foreign }, { errors: [], foreign: [] });
    } finally {
        await context.close();
    }
}

/** The page of a report, as file. */
export function withReport(report, options, run) {
    return withPage(address(report), options, run);
}

/** A picture of what is seen. */
export function screenshot(page, name, options = {}) {
    return page.screenshot({ path: join(needed('QUEUEWARDEN_SCREENSHOTS'), `${name}.png`), ...options });
}

/** What axe finds fault with. */
export async function violations(page) {
    await page.evaluate(AXE);
    const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return found.violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.failureSummary}`).join('; ')}`);
}

/** Searches for a text. */
export async function search(page, text) {
    await page.fill('#search', text);
}

/** The paths of the rows that are drawn in the view that is shown, in order. */
export function paths(page) {
    return page.$$eval('.view:not(.away) .body .row .tree .name', (names) => names.map((name) => name.title));
}

/** The row of a queue. */
export function row(page, path) {
    return page.locator('.view:not(.away) .body .row').filter({ has: page.locator(`.tree .name[title="${path}"]`) });
}

/** What has the focus: the queue's path, and the number of the cell in its row or null. */
export function focused(page) {
    return page.evaluate(() => {
        const at = document.activeElement;
        return { queue: at.closest('.row')?.querySelector('.name')?.title ?? null, column: at.dataset.column ?? null };
    });
}
