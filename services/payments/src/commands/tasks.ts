import { listDeadLetterJobs, listWaitingJobs } from '@trestle/jobs/list-jobs.ts'
import type { Command } from 'commander'
import { tasks } from '../migrations.ts'
import { insertOperatorAudit } from '../operators/operator-audit-repository.ts'
import { cleanUp } from '../use-cases/clean-up.ts'
import { commandGroup, type Operator, type OperatorCommand, toCommand } from './operator-command.ts'

/** `payments tasks …`: lists background work, and retries dead-letter jobs. */
export function tasksCommand(operator: Operator): Command {
  return commandGroup(operator, 'tasks', 'list background work, and retry dead-letter jobs', commands)
}

/** `payments prune`: deletes expired and old rows. The service does the same every hour. */
export function cleanUpCommand(operator: Operator): Command {
  return toCommand(operator, {
    usage: 'prune',
    description:
      'delete expired sessions, tokens and invitations, idempotency keys of a day, events of a month, apps that nobody uses',
    run: ({ db, placement, config }) => cleanUp({ db, placement, config }),
  })
}

const commands: readonly OperatorCommand[] = [
  {
    usage: 'list',
    description: 'count waiting, running and dead-letter jobs by task',
    run: async ({ db, names }) => {
      const queues = { db, schema: names.jobSchema, tasks }
      const [waiting, dead] = [await listWaitingJobs(queues), await listDeadLetterJobs(queues)]
      return [
        ...waiting,
        ...dead.map(({ task, count, lastAt, reason }) => ({ task, state: 'dead', count, last: lastAt, reason })),
      ]
    },
  },
  {
    usage: 'retry <task>',
    description: 'put the dead-letter jobs of a task back into its queue',
    run: async ({ jobs, db }, { words: [name] }) => {
      const task = tasks.find((known) => known.name === name)
      if (!task) throw new Error(`there is no task ${name}; there are ${tasks.map((known) => known.name).join(', ')}`)
      await jobs.open()
      try {
        const answer = { task: task.name, retried: await jobs.retryDeadLetterJobs(task) }
        await insertOperatorAudit(db, { action: 'tasks.retried', payload: answer })
        return answer
      } finally {
        await jobs.close()
      }
    },
  },
]
