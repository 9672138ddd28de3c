import { type Html, html } from '@trestle/common/documents/html.ts'
import { z } from 'zod'
import { errorText } from '../deliveries/delivery-pages.ts'
import { type Changeable, changeLinks, type Viewer } from '../pages/asked-change.ts'
import type { ConsolePage } from '../pages/layout.ts'
import { smallTable } from '../pages/list.ts'
import { badge, card, count, emptyState, pageHead, quietCount, tabs, time } from '../pages/parts.ts'
import { answerWith } from '../service-calls/service-call.ts'

export const JOB_STATES = ['failed', 'waiting', 'running'] as const

interface ShownJobs extends TasksView {
  readonly registration: Registration
  readonly state: (typeof JOB_STATES)[number]
}

const LABELS = { failed: 'Dead', waiting: 'Waiting', running: 'Running' } as const

/** Shows background work, and the setting for registering apps. */
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
  // The tab above shows the state.
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
  const words = { open: 'Everyone', invited: 'Clients with an invitation', closed: 'No one' }
  return card(
    'Registration of apps',
    html`<div class="card-body stack"><p>${isClosed ? badge('Closed by an operator', 'warn') : html`${words[mode]} may register apps.`}</p><p class="hint">The settings of payments say: ${mode}.</p><div class="actions">${changeLinks(registrationChanges, registration, viewer)}</div></div>`,
  )
}

export const taskChanges: Changeable<Task> = {
  service: 'payments',
  section: 'jobs',
  pathOf: ({ name }) => `${JOBS_PATH}/${encodeURIComponent(name)}`,
  shownAt: () => JOBS_PATH,
  changes: [
    {
      name: 'retry',
      action: 'tasks.retry',
      label: 'Retry',
      title: ({ name }) => `Retry the dead-letter jobs of ${name}`,
      isOffered: ({ failed }) => failed > 0,
      consequences: ({ failed }) => [
        `All dead-letter jobs of the task (${failed} now) run again, with all their attempts.`,
        'Mend the cause first, or they fail again.',
      ],
      call: ({ name }) => ({ method: 'POST', path: `/operator/tasks/${encodeURIComponent(name)}/retry` }),
      answer: answerWith('retried'),
      done: ({ name }) => `The dead-letter jobs of ${name} run again`,
    },
  ],
}

const registrationCall = (body: { readonly isClosed: boolean }) =>
  ({ method: 'PUT', path: REGISTRATION_CALL, body }) as const

export const registrationChanges: Changeable<Registration> = {
  service: 'payments',
  section: 'jobs',
  pathOf: () => '/registration',
  shownAt: () => JOBS_PATH,
  changes: [
    {
      name: 'close',
      action: 'registration.change',
      label: 'Close registration',
      isDangerous: true,
      isOffered: ({ mode, isClosed }) => mode !== 'closed' && !isClosed,
      consequences: () => [
        'New apps can no longer be registered. Registered apps keep working.',
        'You can open it again.',
      ],
      call: () => registrationCall({ isClosed: true }),
      answer: answerWith('registration'),
      done: 'The registration of apps is closed',
    },
    {
      name: 'open',
      action: 'registration.change',
      label: 'Open registration',
      isOffered: ({ isClosed }) => isClosed,
      consequences: ({ mode }) => [
        mode === 'closed'
          ? 'The settings of payments keep the registration closed all the same.'
          : `Apps are registered again, as the settings of payments say: ${mode}.`,
      ],
      call: () => registrationCall({ isClosed: false }),
      answer: answerWith('registration'),
      done: 'The registration of apps is as the settings say',
    },
  ],
}

const Task = z.looseObject({ name: z.string(), waiting: z.int(), running: z.int(), failed: z.int() })
/** A task with the number of its jobs in each state. */
export type Task = z.infer<typeof Task>
const Job = z.looseObject({
  id: z.string(),
  task: z.string(),
  created: z.string(),
  attempts: z.int(),
  error: z.string().optional(),
})
type Job = z.infer<typeof Job>

export const TasksView = z.object({ tasks: z.array(Task), jobs: z.array(Job) })
export type TasksView = z.infer<typeof TasksView>

const Registration = z.object({ mode: z.enum(['open', 'invited', 'closed']), isClosed: z.boolean() })
/** Who may register apps. The settings decide unless an operator has closed the registration. */
export type Registration = z.infer<typeof Registration>
export const RegistrationView = z.object({ registration: Registration })

export const REGISTRATION_CALL = '/operator/registration'
const JOBS_PATH = '/jobs'
