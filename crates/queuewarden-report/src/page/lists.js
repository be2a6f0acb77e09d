// The views that are lists: subjects, findings, changes.

/** A point in time as the reader's clock has it; the exact text stays beside it for programs. */
function time(text) {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) {
        return name(text);
    }
    return h('time', { datetime: text, title: text }, `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`);
}

/** One finding; `at` says whether its queue is named. */
function findingCard(page, finding, at = true) {
    const queue = finding.queue ?? null;
    const written = finding.writtenIn && place(finding.writtenIn);
    return h('li', { class: `card ${finding.severity}` },
        h('p', { class: 'card-head' }, icon(finding.severity), h('strong', null, finding.severity), h('code', null, visible(finding.code)), visible(finding.title),
            at && queue !== null && h('span', { class: 'where' }, queueLink(page, queue), finding.acl ? ` ${finding.acl}` : '')),
        h('p', null, prose(finding.message)),
        finding.help && h('p', { class: 'help' }, prose(finding.help)),
        written && h('p', { class: 'places' }, h('bdi', { class: 'place' }, written)));
}

/** One change. */
function changeCard(page, change) {
    const object = [change.kind, change.namespace ? `${change.namespace}/${change.name}` : change.name].join(' ');
    const queue = change.queue ?? null;
    return h('li', { class: 'card' },
        h('p', { class: 'card-head' }, h('strong', null, name(object)), queue !== null && h('span', { class: 'where' }, queueLink(page, queue))),
        h('p', null, 'by ', h('strong', null, name(change.manager)), ` (${visible(change.operation)}), `, change.time ? time(change.time) : 'at an unknown time'),
        h('p', { class: 'places' }, change.fields.map((field) => h('bdi', { class: 'place' }, visible(field)))));
}

function matches(needle, ...texts) {
    return texts.some((text) => text && text.toLowerCase().includes(needle));
}

/** What of a list a search leaves: by words in it, or by the queue it is about. */
function left(page, items, texts) {
    const { query, model } = page;
    if (!query) {
        return items;
    }
    return items.filter((item) => matches(query.any, ...texts(item), item.queue === null || item.queue === undefined ? null : model.queues[item.queue].path));
}

function cards(page, items, draw, none) {
    return items.length === 0 ? [h('p', { class: 'empty' }, none)] : long(page, items, draw, (list) => h('ul', { class: 'cards' }, list));
}

function findingsList(page) {
    const all = page.model.report.findings;
    const shown = left(page, all, (finding) => [finding.code, finding.title, finding.message, finding.help, finding.writtenIn?.name]);
    return cards(page, shown, (finding) => findingCard(page, finding), all.length === 0 ? 'Nothing was found.' : 'No finding matches.');
}

function changesList(page) {
    const all = page.model.report.changes;
    const shown = left(page, all, (change) => [change.kind, change.name, change.namespace, change.manager, ...change.fields]);
    return cards(page, shown, (change) => changeCard(page, change), all.length === 0 ? 'Nothing is known about who changed what: files do not say.' : 'No change matches.');
}

/** So many of the queues at which a right begins stand in the table. */
const STARTS = 4;
const STARTS_ON_PAPER = 12;

/** Subjects, with where their rights begin. */
function subjectsList(page) {
    const { model } = page;
    const shown = matrixSubjects(page);
    const cell = (subject, verb) => {
        const starts = model.starts[verb].get(subject.number) ?? [];
        const links = starts.slice(0, page.paper ? STARTS_ON_PAPER : STARTS).map((start) => queueLink(page, start.queue));
        const more = starts.length - links.length;
        const none = h('span', { class: 'nobody' }, h('span', { 'aria-hidden': 'true' }, '–'), h('span', { class: 'unseen' }, 'nowhere by name'));
        return h('td', null, links.length === 0 ? none : links, more > 0 && h('span', { class: 'more' }, `+${numbers.format(more)}`, h('span', { class: 'unseen' }, ' more')));
    };
    const row = (subject) => h('tr', null,
        h('th', { scope: 'row' }, subjectLink(page, subject.number)),
        VERBS.map((verb) => [h('td', { class: 'figure' }, numbers.format(model.numberHeld(subject.number, verb))), cell(subject, verb)]));
    if (shown.length === 0) {
        return [h('p', { class: 'empty' }, 'No subject matches.')];
    }
    const head = ['Name', 'Submits to', 'beginning at', 'Administers', 'beginning at'];
    return long(page, shown, row, (rows) => h('table', { class: 'subjects' }, h('caption', { class: 'unseen' }, 'Subjects and where their rights begin'),
        h('thead', null, h('tr', null, head.map((title) => h('th', { scope: 'col' }, title)))), h('tbody', null, rows)));
}
