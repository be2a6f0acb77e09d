// The live page: asks for its document again and again, and says so when it gets none.

class Live {
    constructor(page, { url, seconds }) {
        this.page = page;
        this.url = url;
        this.pause = Math.max(seconds, 1) * 1000;
        this.tag = null;
        this.note();
        this.sayHow();
        this.later();
    }

    later() {
        setTimeout(() => this.ask().finally(() => this.later()), this.pause);
    }

    /** A page that nobody looks at asks for nothing. */
    async ask() {
        if (document.hidden) {
            return;
        }
        try {
            const answer = await fetch(this.url, {
                headers: this.tag ? { 'If-None-Match': this.tag } : {}, cache: 'no-store', credentials: 'omit', redirect: 'error', signal: AbortSignal.timeout(30_000),
            });
            if (answer.status === 200) {
                const report = await answer.json();
                this.tag = answer.headers.get('ETag');
                this.page.take(report);
                this.note();
                this.sayHow();
            } else if (answer.status === 304) {
                this.sayHow();
            } else {
                this.say('stale', `Not updated: the server answers ${answer.status}`);
            }
        } catch {
            this.say('stale', 'Not updated: the server does not answer');
        }
    }

    /** Shows what is missing from the document, and why it is old. */
    note() {
        const { notes, stale } = this.page.model.report.live;
        const all = stale === null ? notes : [stale, ...notes];
        byId('notes').replaceChildren(...all.map((note) => h('p', null, prose(note))));
        byId('notes').hidden = all.length === 0;
    }

    sayHow() {
        if (this.page.model.report.live.stale === null) {
            this.say('live', 'Live');
        } else {
            this.say('stale', 'Not updated');
        }
    }

    say(state, words) {
        const badge = byId('live');
        if (badge.textContent !== words) {
            badge.textContent = words;
        }
        badge.className = `live ${state}`;
        badge.hidden = false;
    }
}

const report = JSON.parse(byId('report').textContent);
const page = new Page(report);
if (report.live) {
    new Live(page, report.live);
}
