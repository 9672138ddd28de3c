import type { Changeable } from '../pages/asked-change.ts'
import { answerWith } from '../service-calls/service-call.ts'
import { JOBS_PATH, REGISTRATION_CALL, type Registration, type Task } from './job-view.ts'

/** The acts of operators on the jobs of a task. */
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
      title: ({ name }) => `Retry the dead jobs of ${name}`,
      isOffered: ({ failed }) => failed > 0,
      consequences: ({ failed }) => [
        `All dead jobs of the task (${failed} now) run again, with all their attempts.`,
        'Mend the cause first, or they fail again.',
      ],
      call: ({ name }) => ({ method: 'POST', path: `/operator/tasks/${encodeURIComponent(name)}/retry` }),
      answer: answerWith('retried'),
      done: ({ name }) => `The dead jobs of ${name} run again`,
    },
  ],
}

const registrationCall = (body: { readonly isClosed: boolean }) =>
  ({ method: 'PUT', path: REGISTRATION_CALL, body }) as const

/** The acts of operators on the registration of apps. */
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
        'Nobody registers an app from now on. Apps that are registered go on.',
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
