// Names are texts: whatever stands in them, nothing of it runs, and none of them passes for another.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { address, answer, file, search, withPage, withReport } from './browser.js';

const HOSTILE = [
    '</script><script>globalThis.harmed = true</script>',
    '<img src=x onerror="globalThis.harmed = true">',
    '"><svg onload=globalThis.harmed=true>',
    "'; globalThis.harmed = true; //",
    '<!--<script>', ']]>', '&lt;b&gt;', '{{report}}', '$&$`', '__proto__', 'constructor',
    'javascript:globalThis.harmed=true', 'https://example.com/x.png',
    'a\u202egnp.exe', 'b\u2066c\u2069', 'zero\u200bwidth', 'line\u2028end', 'tab\tnew\nline\u0000', '', ' ', 'x'.repeat(5000), 'שלום', '😀', '\ud800',
];

/** The small report with these texts wherever a text of others may stand. */
function spoilt() {
    const report = answer('small', 'report');
    let next = 0;
    const text = () => HOSTILE[(next++) % HOSTILE.length];
    report.source = HOSTILE[0];
    report.partition = HOSTILE[1];
    report.cluster = { context: text(), name: text(), server: text() };
    report.program = text();
    report.scheduler = text();
    report.notes = HOSTILE;
    report.admission = HOSTILE.map((value) => ({ key: `a.b.${value}`, value, writtenIn: null }));
    report.outside = [{ name: HOSTILE[0], queue: 0, expired: false, suspended: false, notBefore: HOSTILE[1], expiresAt: null }];
    report.withoutEffect = [{ kind: 'QueueAcl', name: HOSTILE[0], queue: 0, reason: text(), message: text() }];
    report.subjects.filter((subject) => subject.name !== null).forEach((subject) => { subject.name = text(); });
    report.queues.forEach((queue) => {
        queue.path = queue.parent === null ? 'root' : `${report.queues[queue.parent].path}.${text()}`;
        [queue.submit, queue.admin].filter(Boolean).forEach((acl) => { acl.text = text(); });
    });
    report.origins.forEach((origin) => { origin.name = text(); });
    report.findings = HOSTILE.map((message, queue) => ({
        code: message, title: message, severity: 'error', message, help: message, queue: queue % report.queues.length, acl: 'submitacl',
        writtenIn: { kind: 'Text', name: message, line: 1, column: 1 },
    }));
    report.changes = HOSTILE.map((name) => ({ time: name, kind: name, namespace: name, name, manager: name, operation: name, fields: [name], queue: 1 }));
    return report;
}

/** The small page with another report in it, escaped as the program does. */
function pageWith(report) {
    const html = file('small.html');
    const [, before, , behind] = /^(.*<script type="application\/json" id="report">)(.*?)(<\/script>.*)$/su.exec(html);
    const json = JSON.stringify(report).replace(/[<>&\u2028\u2029]/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
    return before + json + behind;
}

describe('hostile names', () => {
    it('do no harm in any view', async () => {
        const directory = mkdtempSync(join(tmpdir(), 'queuewarden-page-'));
        try {
            const path = join(directory, 'spoilt.html');
            writeFileSync(path, pageWith(spoilt()));
            await withPage(pathToFileURL(path).href, {}, async (page) => {
                const elements = async () => page.$$eval('script, img, iframe, svg[onload], a, link, form', (found) => found.map((element) => element.outerHTML.slice(0, 60)));
                const before = await elements();
                for (const view of ['matrix', 'subjects', 'admission', 'findings', 'changes', 'queues']) {
                    await page.click(`#tab-${view}`);
                    for (const text of HOSTILE) {
                        await search(page, text);
                    }
                    await search(page, '');
                }
                for (const row of await page.locator('#grid-queues .body .row').all()) {
                    await row.click({ position: { x: 200, y: 10 } });
                }
                for (const chip of await page.locator('#grid-queues .chip').all()) {
                    await chip.click();
                }
                assert.deepEqual(await elements(), before, 'no name made an element');
                assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
            });
        } finally {
            rmSync(directory, { recursive: true });
        }
    });

    it('of the files and objects that the program read do no harm', () => withReport('hostile', {}, async (page) => {
        const text = JSON.stringify(answer('hostile', 'report'));
        assert.ok(text.includes('</script>'), 'the report has a hostile name');
        for (const view of ['matrix', 'subjects', 'admission', 'findings', 'changes', 'queues']) {
            await page.click(`#tab-${view}`);
        }
        assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
        assert.equal(await page.locator('script').count(), 2);
    }));

    it('are shown with what cannot be seen written out, each apart from the text around it', async () => {
        const report = answer('small', 'report');
        report.subjects[0].name = 'a\u202egnp.exe';
        report.cluster = { context: 'prod\u202e', name: '\u2066stage', server: 'https://x\u200f' };
        report.notes = ['cannot read \u202eit'];
        const directory = mkdtempSync(join(tmpdir(), 'queuewarden-page-'));
        try {
            const path = join(directory, 'bidi.html');
            writeFileSync(path, pageWith(report));
            await withPage(pathToFileURL(path).href, { at: 'view=subjects' }, async (page) => {
                const shown = page.locator('#view-subjects bdi', { hasText: 'gnp.exe' }).first();
                assert.equal(await shown.innerText(), 'a\\u{202e}gnp.exe');
                assert.ok(!/[\u200f\u202e\u2066]/u.test(await page.innerText('body') + await page.title()));
                assert.ok((await page.innerText('#origin')).includes('prod\\u{202e}'));
                await page.locator('#view-subjects button', { hasText: 'gnp.exe' }).first().click();
                await page.click('text=Show in the matrix');
                assert.equal(await page.inputValue('#search'), `${report.subjects[0].kind.toLowerCase()}:a\\u{202e}gnp.exe`);
                assert.equal(await page.innerText('#found'), '0 queues, 1 subject');
            });
        } finally {
            rmSync(directory, { recursive: true });
        }
    });

    it('could not run anything if they were markup: the policy lets only the page’s own script run', () => withPage(address('small'), { expected: /Content Security Policy/u }, async (page) => {
        await page.evaluate(() => {
            const script = document.createElement('script');
            script.textContent = 'globalThis.harmed = true';
            document.body.append(script);
            document.body.insertAdjacentHTML('beforeend', '<img src="data:," onerror="globalThis.harmed = true"><div id="styled" style="color: rgb(1, 2, 3)"></div>');
        });
        await page.evaluate(() => new Promise((done) => { setTimeout(done); }));
        assert.equal(await page.evaluate(() => globalThis.harmed), undefined);
        assert.notEqual(await page.evaluate(() => getComputedStyle(document.getElementById('styled')).color), 'rgb(1, 2, 3)');
        assert.equal(await page.evaluate(() => fetch('https://example.com/').then(() => 'sent', () => 'refused')), 'refused');
    }));
});
