// The page that `queuewarden report --serve` shows of a real cluster: it follows what kubectl changes.
//
// QUEUEWARDEN_LIVE is its URL; KUBECTL and KUBECONFIG change the cluster, which has the queue root.prod.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, describe, it } from 'node:test';
import { end, needed, row, screenshot, violations, withPage } from './browser.js';

const url = needed('QUEUEWARDEN_LIVE');

/** Lets these users submit to root.prod. */
function grant(...users) {
    const acl = { apiVersion: 'queuewarden.dev/v1alpha1', kind: 'QueueAcl', metadata: { name: 'prod' }, spec: { queue: 'root.prod', submit: { users } } };
    execFileSync(needed('KUBECTL'), ['apply', '-f', '-'], { input: JSON.stringify(acl) });
}

const submitters = (page) => row(page, 'root.prod').locator('.submit .chip bdi').allInnerTexts();

describe('the page that is served', () => {
    it('follows the ACLs without being loaded again', () => withPage(url, { allowed: [`${url}report.json`] }, async (page) => {
        grant('sue');
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
        await screenshot(page, 'served');
    }));

    it('keeps nothing that another page could use', () => withPage(url, { allowed: [`${url}report.json`] }, async (page) => {
        assert.deepEqual(await page.context().cookies(), []);
        assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    }));
});

after(end);
