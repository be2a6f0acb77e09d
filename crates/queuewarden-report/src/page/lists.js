// The views that are lists: subjects, admission settings, findings, changes.

/** A point in time as the reader's clock has it; the exact text stays beside it for programs. */
function time(text) {
    const date = new Date(text);
    if (Number.isNaN(date.getTime())) {
        return name(text);
    }
    return h('time', { datetime: text, title: text }, `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`);
}

/** Findings in lists of those with one cause: of a kind that one remedy mends. */
function byCause(findings) {
    const causes = new Map();
    for (const finding of findings) {
        const cause = JSON.stringify([finding.severity, finding.code, finding.help]);
        (causes.get(cause) ?? causes.set(cause, []).get(cause)).push(finding);
    }
    return [...causes.values()];
}

/** The findings with one cause; `at` says whether their queues are named. */
function findingCard(page, alike, at = true) {
    const [{ severity, code, title, help }] = alike;
    const where = ({ queue, acl }) => at && (queue ?? null) !== null && h('span', { class: 'where' }, queueLink(page, queue), acl ? ` ${acl}` : '');
    const written = ({ writtenIn }) => writtenIn && h('p', { class: 'places' }, h('bdi', { class: 'place' }, place(writtenIn)));
    const one = (finding) => h('li', null, h('div', null, prose(finding.message), where(finding)), written(finding));
    const alone = alike.length === 1;
    return h('li', { class: `card ${severity}` },
        h('p', { class: 'card-head' }, icon(severity), h('strong', null, severity), h('code', null, visible(code)), visible(title),
            alone ? where(alike[0]) : h('span', { class: 'number' }, numbers.format(alike.length), h('span', { class: 'unseen' }, ' findings'))),
        alone && h('p', null, prose(alike[0].message)),
        help && h('p', { class: 'help' }, prose(help)),
        alone ? written(alike[0]) : long(page, alike, one, (items) => h('ul', { class: 'holders' }, items), AT_A_GLANCE));
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

/** When an object begins or ended, if that is why it changes nothing. */
function when(page, object) {
    const outside = object.kind === 'QueueAcl' && page.model.report.outside.find((each) => each.name === object.name);
    if (!outside || outside.suspended) {
        return null;
    }
    const [word, at] = outside.expired ? ['ended', outside.expiresAt] : ['begins', outside.notBefore];
    return at && h('span', { class: 'how' }, `${word} `, time(at));
}

/** One object that changes nothing. */
function objectCard(page, object) {
    return h('li', { class: 'card' },
        h('p', { class: 'card-head' }, h('strong', null, name(`${object.kind} ${object.name}`)), visible(object.reason), when(page, object), object.queue !== null && h('span', { class: 'where' }, queueLink(page, object.queue))),
        h('p', null, prose(object.message)));
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

/** Findings that a search leaves, and below them the objects that change nothing. */
function found(page, all, objects) {
    const shown = left(page, all, (finding) => [finding.code, finding.title, finding.message, finding.help, finding.writtenIn?.name]);
    const idle = left(page, objects, (object) => [object.kind, object.name, object.reason, object.message]);
    return [
        ...(shown.length === 0 && idle.length > 0 ? [] : cards(page, byCause(shown), (alike) => findingCard(page, alike), all.length === 0 ? 'Nothing was found.' : 'No finding matches.')),
        idle.length > 0 && h('h2', null, 'Objects without effect'),
        ...(idle.length > 0 ? cards(page, idle, (object) => objectCard(page, object)) : []),
    ];
}

function findingsList(page) {
    return found(page, page.model.report.findings, page.model.report.withoutEffect);
}

/** Settings whose values are lists of expressions for the names of those who may act as others. */
const LISTS = ['systemUsers', 'externalUsers', 'externalGroups'];

function settingName({ key }) {
    return key.split('.').at(-1);
}

/** How many names and expressions are trusted to submit in other people's names. */
function trusted(report) {
    return report.admission.reduce((sum, setting) => {
        if (LISTS.includes(settingName(setting))) {
            return sum + setting.value.split(',').filter((each) => each.trim() !== '').length;
        }
        return sum + (settingName(setting) === 'bypassAuth' && setting.value.trim() === 'true' ? 1 : 0);
    }, 0);
}

/** Who may submit in other people's names: the settings, what is wrong with them, and the policies that do not count. */
function admissionList(page) {
    const { admission, withoutEffect } = page.model.report;
    const row = ({ key, value, writtenIn }) => h('tr', null, h('th', { scope: 'row' }, h('code', null, name(settingName({ key })))),
        h('td', null, h('code', null, name(value))), h('td', null, h('bdi', { class: 'place' }, writtenIn ? place(writtenIn) : '')));
    const settings = left(page, admission, ({ key, value, writtenIn }) => [key, value, writtenIn?.name]);
    const head = ['Setting', 'Value', 'Written in'];
    return [
        h('p', null, 'These settings of YuniKorn’s admission controller say who may submit in the names of others.'),
        admission.length === 0 && h('p', { class: 'empty' }, 'None is set here: YuniKorn’s defaults hold.'),
        settings.length > 0 && h('table', { class: 'settings' }, h('caption', { class: 'unseen' }, 'Settings of the admission controller'),
            h('thead', null, h('tr', null, head.map((title) => h('th', { scope: 'col' }, title)))), h('tbody', null, settings.map(row))),
        h('h2', null, 'Findings'),
        ...found(page, page.model.admissionFindings, withoutEffect.filter(({ kind }) => kind === 'AdmissionPolicy')),
    ];
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
        return h('td', { role: 'cell' }, links.length === 0 ? none : links, more > 0 && h('span', { class: 'more' }, `+${numbers.format(more)}`, h('span', { class: 'unseen' }, ' more')));
    };
    // The roles are set, because a narrow view shows the table as blocks.
    const row = (subject) => h('tr', { role: 'row' },
        h('th', { scope: 'row', role: 'rowheader' }, subjectLink(page, subject.number)),
        VERBS.map((verb) => [h('td', { role: 'cell', class: 'figure', 'data-title': verb === SUBMIT ? 'Submits to' : 'Administers' }, numbers.format(model.numberHeld(subject.number, verb))), cell(subject, verb)]));
    if (shown.length === 0) {
        return [h('p', { class: 'empty' }, 'No subject matches.')];
    }
    const head = ['Name', 'Submits to', 'beginning at', 'Administers', 'beginning at'];
    return long(page, shown, row, (rows) => h('table', { role: 'table', class: 'subjects' }, h('caption', { class: 'unseen' }, 'Subjects and where their rights begin'),
        h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, head.map((title) => h('th', { scope: 'col', role: 'columnheader' }, title)))), h('tbody', { role: 'rowgroup' }, rows)));
}
