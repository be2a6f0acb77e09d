// The page that a real operator serves of a real cluster: signed in to as people do, it follows what kubectl changes.
//
// QUEUEWARDEN_LIVE is the report's address, QUEUEWARDEN_TOKEN a token of somebody who may see it; KUBECTL and KUBECONFIG change the cluster,
// which has the queue root.prod and the QueueAcl `prod` for it.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { end, needed, row, screenshot, violations, withPage } from './browser.js';

const [url, token] = [needed('QUEUEWARDEN_LIVE'), needed('QUEUEWARDEN_TOKEN')];
const allowed = ['/', '/report', '/sign-in', '/sign-out', '/report.json?partition=default'].map((path) => new URL(path, url).href);
// The form is shown with status 401.
const expected = /Failed to load resource: the server responded with a status of 401/u;

/** Lets these users submit to root.prod. */
function grant(...users) {
    const acl = { apiVersion: 'queuewarden.dev/v1alpha1', kind: 'QueueAcl', metadata: { name: 'prod' }, spec: { queue: 'root.prod', submit: { users } } };
    execFileSync(needed('KUBECTL'), ['apply', '-f', '-'], { input: JSON.stringify(acl) });
}

async function signIn(page) {
    await page.fill('#token', token);
    await page.click('button');
    await page.locator('#grid-queues').waitFor();
}

const submitters = (page) => row(page, 'root.prod').locator('.submit .chip bdi').allInnerTexts();

describe('the page of an operator', () => {
    for (const colorScheme of ['light', 'dark']) {
        it(`asks who it is with a form that axe finds no fault with, ${colorScheme}`, () => withPage(url, { allowed, expected, colorScheme }, async (page) => {
            assert.deepEqual(await violations(page), []);
            await page.fill('#token', 'guess');
            await page.click('button');
            await page.locator('[role=alert]').waitFor();
            assert.deepEqual(await violations(page), []);
            await screenshot(page, `operator-sign-in-${colorScheme}`);
        }));
    }

    it('follows the ACLs without being loaded again, and ends with the session', () => withPage(url, { allowed, expected }, async (page) => {
        grant('sue');
        await signIn(page);
        await page.evaluate(() => { globalThis.sameAsBefore = true; });
        await row(page, 'root.prod').locator('.submit .chip', { hasText: 'sue' }).waitFor();
        grant('zoe', 'ann');
        await row(page, 'root.prod').locator('.submit .chip', { hasText: 'zoe' }).waitFor();
        assert.deepEqual((await submitters(page)).sort(), ['ann', 'zoe']);
        assert.equal(await page.evaluate(() => globalThis.sameAsBefore), true);
        // Who changed it, as the API server keeps it.
        await row(page, 'root.prod').click();
        assert.match(await page.innerText('#panel-content'), /QueueAcl prod\s[^]*by kubectl-client-side-apply/u);
        assert.deepEqual(await violations(page), []);
        await screenshot(page, 'operator');
        await page.click('#sign-out');
        await page.locator('#token').waitFor();
        await page.goto(`${url}report`);
        assert.ok(await page.isVisible('#token'));
    }));
});

after(end);
