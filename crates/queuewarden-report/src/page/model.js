// The document with what is looked up in it. It decides nothing: a right is held where a start of the document reaches, and all that is
// done here is to look for the nearest one.

const SUBMIT = 'submit';
const ADMINISTER = 'administer';
const VERBS = [SUBMIT, ADMINISTER];
const KINDS = { Everyone: 'everyone', User: 'user', Group: 'group' };

class Model {
    constructor(report) {
        this.report = report;
        this.queues = report.queues.map((queue, number) => ({ ...queue, number, children: [], name: queue.path }));
        for (const queue of this.queues) {
            if (queue.parent !== null) {
                const above = this.queues[queue.parent];
                queue.name = queue.path.slice(above.path.length + 1);
                queue.at = above.children.push(queue.number);
            }
            queue.level = queue.parent === null ? 1 : this.queues[queue.parent].level + 1;
        }
        this.subjects = report.subjects.map((subject, number) => ({ kind: KINDS[subject.kind], name: subject.name ?? 'everyone', number }));
        this.everyone = this.subjects.findIndex((subject) => subject.kind === 'everyone');
        this.starts = { [SUBMIT]: new Map(), [ADMINISTER]: new Map() };
        this.startsAt = { [SUBMIT]: this.queues.map(() => new Map()), [ADMINISTER]: this.queues.map(() => new Map()) };
        for (const { subject, verb, starts } of report.rights) {
            this.starts[verb].set(subject, starts);
            starts.forEach((start) => this.startsAt[verb][start.queue].set(subject, { ...start, subject }));
        }
        this.findingsOf = this.byQueue(report.findings);
        // Findings about a text stand at a place in it, those about the admission settings at an object.
        this.admissionFindings = report.findings.filter(({ queue, writtenIn }) => queue === null && writtenIn !== null && writtenIn.kind !== 'Text');
        this.changesOf = this.byQueue(report.changes);
        this.numbers = new Map(this.queues.map((queue) => [queue.path, queue.number]));
    }

    byQueue(items) {
        const lists = new Map();
        items.filter((item) => item.queue !== null && item.queue !== undefined).forEach((item) => {
            const list = lists.get(item.queue);
            if (list) {
                list.push(item);
            } else {
                lists.set(item.queue, [item]);
            }
        });
        return lists;
    }

    /** A queue and those above it, the nearest first. */
    * lineage(number) {
        for (let at = number; at !== null; at = this.queues[at].parent) {
            yield at;
        }
    }

    /** The start by which a subject holds a right on a queue: the nearest one, its own before everyone's; undefined when none reaches it. */
    held(queue, subject, verb) {
        for (const at of this.lineage(queue)) {
            const here = this.startsAt[verb][at];
            for (const whose of [subject, this.everyone]) {
                const start = here.get(whose);
                if (start && reaches(start, queue)) {
                    return start;
                }
            }
        }
        return undefined;
    }

    /**
     * All that hold a right on a queue by their names, each by its nearest start: those named nearest first. Above a queue at which
     * everyone gets it nobody is looked for: they have it already.
     */
    holders(queue, verb) {
        const found = new Map();
        for (const at of this.lineage(queue)) {
            for (const [subject, start] of this.startsAt[verb][at]) {
                if (!found.has(subject) && reaches(start, queue)) {
                    found.set(subject, start);
                }
            }
            if (found.has(this.everyone)) {
                break;
            }
        }
        return [...found.values()];
    }

    /** How many queues a subject holds a right on, by its name or with everyone. */
    numberHeld(subject, verb) {
        const whose = subject === this.everyone ? [subject] : [subject, this.everyone];
        const ranges = whose.flatMap((each) => this.starts[verb].get(each) ?? []).flatMap((start) => this.reach(start));
        ranges.sort((left, right) => left[0] - right[0]);
        let [number, end] = [0, 0];
        for (const [from, to] of ranges) {
            number += Math.max(to - Math.max(from, end), 0);
            end = Math.max(end, to);
        }
        return number;
    }

    /** The ranges of queues that a start reaches. */
    reach(start) {
        return start.reach ?? [[start.queue, this.queues[start.queue].end]];
    }

    /** Where the entry is written with which a right begins. */
    origins(start) {
        const queue = this.queues[start.queue];
        const acl = start.acl === 'adminacl' ? queue.admin : queue.submit;
        const entry = acl?.entries.find((each) => each.subject === start.subject);
        return (entry?.origins ?? []).map((origin) => this.report.origins[origin]);
    }

    /** The end of the entry at which a right begins: the latest of what writes it; nothing if one of them has none. */
    until(start) {
        const ends = this.origins(start).map((origin) => origin.until);
        return ends.every((end) => end) ? ends.sort().at(-1) : undefined;
    }
}

/** Whether a start that stands at a queue or above it reaches it. */
function reaches(start, queue) {
    return !start.reach || start.reach.some(([from, to]) => from <= queue && queue < to);
}

/** `QueueAcl prod`, `QueueAcl audit until 2026-11-27T18:00:00Z`, `queues.yaml:12:5`. */
function place(origin) {
    if (origin.kind !== 'Text') {
        return `${origin.kind} ${visible(origin.name)}${origin.until ? ` until ${origin.until}` : ''}`;
    }
    return [visible(origin.name), origin.line, origin.column].filter((part) => part !== null && part !== undefined).join(':');
}

// --- what is searched for ---

/**
 * What was typed: `prod`, or of one sort alone `queue:prod`, `user:sue`, `group:dev`. `queue`, `user`, `group` are what to look for in
 * names of that sort, in lower case, or null for nothing; `any` is what to look for in other texts.
 */
function asked(text) {
    const typed = text.trim().toLowerCase();
    if (typed === '') {
        return null;
    }
    const [, sort, rest] = /^(queue|user|group):\s*(.*)$/u.exec(typed) ?? [];
    if (sort) {
        return { queue: null, user: null, group: null, any: rest, [sort]: rest };
    }
    return { queue: typed, user: typed, group: typed, everyone: typed, any: typed };
}

/** Whether a subject is one that is searched for. */
function isAsked(query, subject) {
    const needle = query[subject.kind];
    return needle !== null && needle !== undefined && visible(subject.name).toLowerCase().includes(needle);
}

/** What a search finds: the numbers of queues by their paths, and of subjects by their names. */
function find(model, query) {
    const byPath = query.queue === null ? [] : model.queues.filter((queue) => visible(queue.path).toLowerCase().includes(query.queue));
    const byName = model.subjects.filter((subject) => isAsked(query, subject));
    return { queues: byPath.map((queue) => queue.number), subjects: byName.map((subject) => subject.number) };
}
