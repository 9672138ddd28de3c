import { countJobs, type ListedJob, listJobs } from '@trestle/jobs/list-jobs.ts'
import { z } from 'zod'
import { operatorAnswers } from '../../error-body.ts'
import { tasks } from '../../migrations.ts'
import { ROWS_OF_LONG_READ } from '../../plugins/concurrency-limits.ts'
import { type Routes, requireValues } from '../../plugins/read-request.ts'

const JobView = z
  .object({
    id: z.guid(),
    task: z.string(),
    created: z.iso.datetime(),
    attempts: z.int().describe('How often it was tried'),
    error: z.string().optional().describe('Why the last attempt failed'),
  })
  .meta({ id: 'Job' })

const TaskView = z.object({
  name: z.string(),
  waiting: z.int().describe('For their time or a worker, also after a failure'),
  running: z.int(),
  failed: z.int().describe('For good'),
})

export const operatorTasksRoutes: Routes = async (app) => {
  app.get(
    '/operator/tasks',
    {
      config: { action: 'tasks.read', rowsCounted: ROWS_OF_LONG_READ },
      schema: {
        operationId: 'listTasks',
        tags: ['Operators'],
        summary: 'Count the jobs of each task, and list those in one state',
        querystring: z.object({
          state: z.enum(['waiting', 'running', 'failed']).default('failed').describe('Which jobs are listed'),
        }),
        response: {
          200: z.object({ tasks: z.array(TaskView), jobs: z.array(JobView).describe('The newest 100') }),
          ...operatorAnswers(400),
        },
      },
    },
    async ({ query }) => {
      const { state } = requireValues(query)
      const queues = { db: app.deps.operatorDb, schema: app.deps.names.jobSchema, tasks }
      // One after the other, so that a request uses one connection. Changes by operators share the pool.
      const counts = await countJobs(queues)
      const jobs = await listJobs(queues, state)
      return { tasks: [...counts], jobs: jobs.map(viewJob) }
    },
  )
}

function viewJob({ created, error, ...job }: ListedJob): z.infer<typeof JobView> {
  return { ...job, created: created.toISOString(), error: error ?? undefined }
}
