import { type Html, html } from '@trestle/common/documents/html.ts'
import { errorText } from '../deliveries/delivery-view.ts'
import { changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { badge, card, count, emptyState, pageHead, quietCount, tabs, time } from '../pages/parts.ts'
import { smallTable } from '../pages/table.ts'
import { registrationChanges, taskChanges } from './job-changes.ts'
import { JOBS_PATH, type Job, type Registration, type Task, type TasksView } from './job-view.ts'

/** The states of jobs that are listed. */
export const JOB_STATES = ['failed', 'waiting', 'running'] as const

/** The data of the page. */
export interface ShownJobs extends TasksView {
  readonly registration: Registration
  readonly state: (typeof JOB_STATES)[number]
}

const LABELS = { failed: 'Dead', waiting: 'Waiting', running: 'Running' } as const

/** The page of background work, and of who may register apps. */
export function jobsPage({ tasks, jobs, registration, state }: ShownJobs, viewer: Viewer): ConsolePage {
  const pathOf = (each: ShownJobs['state']) => (each === 'failed' ? JOBS_PATH : `${JOBS_PATH}?state=${each}`)
  return {
    title: 'Jobs',
    section: 'jobs',
    main: html`${pageHead({ title: 'Jobs' })}
<div class="grid split"><div class="stack">
${tabs(
  'States of jobs',
  JOB_STATES.map((each) => [pathOf(each), LABELS[each]] as const),
  pathOf(state),
)}
${jobsCard(jobs, state)}
${tasksCard(tasks, viewer)}
</div><div class="stack">
${registrationCard(registration, viewer)}
</div></div>`,
  }
}

function tasksCard(tasks: readonly Task[], viewer: Viewer): Html {
  const rows = tasks.map((task) => [
    html`<code>${task.name}</code>`,
    quietCount(task.waiting),
    quietCount(task.running),
    task.failed === 0 ? quietCount(0) : badge(count(task.failed), 'bad'),
    html`${changeLinks(taskChanges, task, viewer)}`,
  ])
  const numbers = ['Waiting', 'Running', 'Dead'].map((label) => ({ label, kind: 'number' as const }))
  return card('Tasks', smallTable('Tasks', ['Task', ...numbers, ''], rows))
}

const NONE = {
  failed: 'No job is dead.',
  waiting: 'No job waits.',
  running: 'No job runs now.',
} as const satisfies Record<ShownJobs['state'], string>

function jobsCard(jobs: readonly Job[], state: ShownJobs['state']): Html {
  const title = LABELS[state]
  // The tab above says which jobs these are.
  if (jobs.length === 0) return html`<section class="card">${emptyState('check', NONE[state])}</section>`
  const rows = jobs.map(({ id, task, created, attempts, error }) => [
    html`<code>${task}</code>${error === undefined ? undefined : html`<div class="hint long">${errorText(error)}</div>`}`,
    html`<code>${id}</code>`,
    String(attempts),
    time(created),
  ])
  const heads = ['Task', 'Id', { label: 'Attempts', kind: 'number' }, 'Created'] as const
  return html`<section class="card">${smallTable(title, heads, rows)}</section>`
}

function registrationCard(registration: Registration, viewer: Viewer): Html {
  const { mode, isClosed } = registration
  const words = { open: 'Everybody', invited: 'Whoever is invited', closed: 'Nobody' }
  return card(
    'Registration of apps',
    html`<div class="card-body stack"><p>${isClosed ? badge('Closed by an operator', 'warn') : html`${words[mode]} may register apps.`}</p><p class="hint">The settings of payments say: ${mode}.</p><div class="actions">${changeLinks(registrationChanges, registration, viewer)}</div></div>`,
  )
}
