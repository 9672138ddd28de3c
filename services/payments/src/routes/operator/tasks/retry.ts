import { z } from 'zod'
import { operatorAnswers } from '../../../error-body.ts'
import { readOperatorChange, sendOperatorAnswer } from '../../../plugins/authenticate-operator.ts'
import type { Routes } from '../../../plugins/read-request.ts'
import { pathText } from '../../../requests/fields.ts'
import { retryTask } from '../../../use-cases/retry-task.ts'

export const operatorTaskRetryRoutes: Routes = async (app) => {
  app.post(
    '/operator/tasks/:task/retry',
    {
      config: { action: 'tasks.retry' },
      schema: {
        operationId: 'retryTask',
        tags: ['Operators'],
        summary: 'Run the dead-letter jobs of a task again',
        params: z.object({ task: pathText() }),
        response: {
          201: z.object({ retried: z.int().describe('How many jobs are back in the queue') }),
          ...operatorAnswers(400, 403, 409, 413, 415),
        },
      },
    },
    async (request, reply) => {
      const { task } = request.params
      const input = { change: readOperatorChange(request), name: task }
      return sendOperatorAnswer(reply, await retryTask(app.deps, input))
    },
  )
}
