// The page: what is shown, what is chosen, what is searched for. The address keeps the first two, so that it can be sent to somebody.

const VIEWS = ['queues', 'matrix', 'subjects', 'admission', 'findings', 'changes'];
const byId = (id) => document.getElementById(id);

class Page {
    constructor(report) {
        this.view = 'queues';
        this.chosen = {};
        this.query = null;
        this.paper = false;
        this.grids = {
            queues: new TreeGrid(byId('grid-queues'), 'Queues and their access control lists'),
            matrix: new TreeGrid(byId('grid-matrix'), 'Rights of subjects on queues'),
        };
        this.model = new Model(report);
        this.tree = new OpenTree(this.model);
        this.drawHead();
        this.find(byId('search').value);
        this.listen();
        this.follow();
    }

    listen() {
        const search = byId('search');
        search.addEventListener('input', () => this.find(search.value));
        search.addEventListener('keydown', (event) => {
            if (event.key === 'ArrowDown' || event.key === 'Enter') {
                this.grids[this.view]?.go(this.firstFound());
                event.preventDefault();
            }
        });
        document.addEventListener('keydown', (event) => this.key(event));
        VIEWS.forEach((view) => byId(`tab-${view}`).addEventListener('click', () => this.go({ view })));
        byId('tabs').addEventListener('keydown', (event) => this.tabKey(event));
        byId('open-all').addEventListener('click', () => this.openAll(true));
        byId('close-all').addEventListener('click', () => this.openAll(false));
        byId('open-panel').addEventListener('click', () => {
            this.choose({});
            byId('panel').classList.add('open');
            byId('panel').focus();
        });
        byId('close-panel').addEventListener('click', () => {
            byId('panel').classList.remove('open');
            this.choose({});
        });
        ['grid-queues', 'grid-matrix'].forEach((grid) => byId(grid).addEventListener('click', (event) => {
            const subject = event.target.closest('.chip[data-subject], .subject[data-subject]');
            if (subject) {
                this.choose({ subject: Number(subject.dataset.subject) });
            }
        }));
        addEventListener('hashchange', () => this.follow());
        matchMedia('print').addEventListener('change', (event) => this.print(event.matches));
        addEventListener('beforeprint', () => this.print(true));
        addEventListener('afterprint', () => this.print(false));
        new ResizeObserver(() => this.view === 'queues' && !this.paper && this.showGrid()).observe(byId('grid-queues'));
    }

    key(event) {
        const typing = event.target.closest?.('input');
        if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
            byId('search').focus();
            byId('search').select();
            event.preventDefault();
        } else if (event.key === 'Escape' && byId('search').value !== '') {
            this.search('');
        } else if (event.key === 'Escape' && (this.chosen.queue ?? this.chosen.subject) !== undefined) {
            this.choose({});
        }
    }

    tabKey(event) {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step) {
            const view = VIEWS[(VIEWS.indexOf(this.view) + step + VIEWS.length) % VIEWS.length];
            this.go({ view });
            byId(`tab-${view}`).focus();
        }
    }

    /** Searches for a text, in a view if one is named. */
    search(text, view = this.view) {
        byId('search').value = text;
        this.find(text);
        this.go({ view });
    }

    /** Leaves what matches; on an axis of the matrix on which nothing does, everything. */
    find(text) {
        this.query = asked(text);
        const found = this.query && find(this.model, this.query);
        this.foundSubjects = found && found.subjects.length > 0 ? new Set(found.subjects) : null;
        this.found = found;
        byId('found').textContent = found ? this.foundWords(found) : '';
        this.show();
    }

    foundWords({ queues, subjects }) {
        if (queues.length + subjects.length === 0) {
            return 'No queue and no subject has this in its name.';
        }
        return `${count(queues.length, 'queue')}, ${count(subjects.length, 'subject')}`;
    }

    /** The queues that a search leaves: by path; in the tree also those whose ACLs name who is searched for. */
    leftQueues() {
        if (!this.found) {
            return null;
        }
        const { queues, subjects } = this.found;
        if (this.view === 'matrix') {
            return queues.length > 0 || subjects.length === 0 ? queues : null;
        }
        const named = subjects.flatMap((subject) => VERBS.flatMap((verb) => (this.model.starts[verb].get(subject) ?? []).map((start) => start.queue)));
        return [...new Set([...queues, ...named])];
    }

    firstFound() {
        const row = this.tree.rows().findIndex((queue) => this.tree.found?.has(queue));
        return Math.max(row, 0);
    }

    openAll(open) {
        this.tree.all(open);
        this.showGrid();
    }

    /** Chooses a queue, a subject, both (a cell of the matrix) or nothing. */
    choose(chosen) {
        this.go({ chosen });
    }

    go({ view = this.view, chosen = this.chosen }) {
        const address = new URLSearchParams({ view });
        if (chosen.queue !== undefined) {
            address.set('queue', this.model.queues[chosen.queue].path);
        }
        if (chosen.subject !== undefined) {
            const { kind, name: whose } = this.model.subjects[chosen.subject];
            address.set('subject', `${kind}:${whose}`);
        }
        if (`#${address}` !== location.hash) {
            location.hash = address;
        }
        this.follow();
    }

    readAddress() {
        const address = new URLSearchParams(location.hash.slice(1));
        const view = VIEWS.find((each) => each === address.get('view')) ?? 'queues';
        const queue = this.model.numbers.get(address.get('queue'));
        const wanted = address.get('subject');
        const subject = this.model.subjects.find(({ kind, name: whose }) => wanted === `${kind}:${whose}`)?.number;
        return { view, chosen: { queue, subject } };
    }

    /** Shows what the address says. */
    follow() {
        const { view, chosen } = this.readAddress();
        const moved = chosen.queue !== this.chosen.queue || chosen.subject !== this.chosen.subject;
        const changed = view !== this.view;
        this.view = view;
        this.chosen = chosen;
        if (moved && chosen.queue !== undefined) {
            this.tree.reveal(chosen.queue);
        }
        if (changed || !this.shown) {
            this.show();
        } else if (moved) {
            // The lists stay as they are, with the focus in them.
            this.showGrid();
            this.showPanel();
        }
        if (moved && chosen.queue !== undefined) {
            this.grids[view]?.goTo(chosen.queue);
        }
    }

    show() {
        this.shown = true;
        for (const view of VIEWS) {
            const tab = byId(`tab-${view}`);
            tab.setAttribute('aria-selected', String(view === this.view));
            tab.setAttribute('tabindex', view === this.view ? '0' : '-1');
            byId(`view-${view}`).classList.toggle('away', view !== this.view);
        }
        byId('tree-buttons').hidden = !(this.view in this.grids);
        this.tree.leave(this.leftQueues());
        this.showGrid();
        this.showList(this.view);
        this.showPanel();
    }

    showGrid() {
        const grid = this.grids[this.view];
        if (grid) {
            grid.show(this.view === 'matrix' ? matrixSource(this) : queuesSource(this, this.paper ? Infinity : byId('grid-queues').clientWidth));
            byId('no-rows').hidden = grid.source.rows.length > 0;
        } else {
            byId('no-rows').hidden = true;
        }
    }

    showList(view) {
        const lists = { subjects: subjectsList, admission: admissionList, findings: findingsList, changes: changesList };
        if (lists[view]) {
            byId(`view-${view}`).replaceChildren(h('h2', { class: 'paper' }, view[0].toUpperCase() + view.slice(1)), ...lists[view](this).filter(Boolean));
        }
    }

    showPanel() {
        const { queue, subject } = this.chosen;
        const content = queue !== undefined ? queuePanel(this, queue, subject) : subject !== undefined ? subjectPanel(this, subject) : overview(this);
        const panel = byId('panel');
        const focused = panel.contains(document.activeElement);
        const about = JSON.stringify(this.chosen);
        const scrolled = about === this.about ? panel.scrollTop : 0;
        this.about = about;
        byId('panel-content').replaceChildren(...content.flat(Infinity).filter(Boolean));
        panel.classList.toggle('chosen', queue !== undefined || subject !== undefined);
        panel.scrollTop = scrolled;
        if (focused && !panel.contains(document.activeElement)) {
            panel.focus({ preventScroll: true });
        }
    }

    drawHead() {
        const { report } = this.model;
        const where = report.cluster ? report.cluster.context ?? report.cluster.server : report.source;
        document.title = `Queue access: ${visible(where)}`;
        byId('source').replaceChildren(name(report.source), ' · partition ', name(report.partition), ' · ', time(report.made));
        byId('origin').replaceChildren(...originWords(report));
        byId('notes').replaceChildren(...report.notes.map((note) => h('li', null, prose(note))));
        byId('notes').hidden = report.notes.length === 0;
        const badges = [['admission', this.model.admissionFindings, trusted(report)], ['findings', report.findings, report.findings.length + report.withoutEffect.length]];
        for (const [view, findings, shown] of badges) {
            const number = byId(`tab-${view}-number`);
            const errors = findings.some((finding) => finding.severity === 'error');
            number.textContent = numbers.format(shown);
            number.className = `number ${errors ? 'error' : findings.length > 0 ? 'warning' : ''}`;
        }
        byId('tab-subjects-number').textContent = numbers.format(report.subjects.length);
        byId('tab-queues-number').textContent = numbers.format(report.queues.length);
        byId('tab-changes-number').textContent = numbers.format(report.changes.length);
    }

    /** On paper there is all that is left by a search: the tree as it is open, with all names, and the lists. */
    print(paper) {
        if (paper === this.paper) {
            return;
        }
        this.paper = paper;
        this.grids.queues.all = paper;
        if (paper) {
            VIEWS.filter((view) => !(view in this.grids)).forEach((view) => this.showList(view));
            this.grids.queues.show(queuesSource(this, Infinity));
            const left = this.tree.rows().length - PAPER_ROWS;
            byId('not-printed').textContent = left > 0 ? `${count(left, 'more queue')} not printed: search for what you need, or close what you do not.` : '';
        } else {
            this.show();
        }
    }
}

/** Where the report comes from, and whether the scheduler runs what it shows. */
function originWords(report) {
    const { cluster, program, scheduler, schedulerRuns } = report;
    const place = cluster
        ? [cluster.context !== null && h('span', null, 'context ', name(cluster.context)), h('span', null, 'cluster ', name(cluster.name ?? cluster.server), cluster.name !== null && [' at ', name(cluster.server)])]
        : [h('span', null, 'from files')];
    const known = schedulerRuns === null ? ['unverified', 'not verified'] : schedulerRuns ? ['runs', 'verified: the scheduler runs this'] : ['differs', 'the scheduler does not run this'];
    return [...place, h('span', null, name(program)), h('span', { class: known[0], title: visible(scheduler) }, known[1], h('span', { class: 'unseen' }, ': ', name(scheduler)))].filter(Boolean);
}

new Page(JSON.parse(byId('report').textContent));
