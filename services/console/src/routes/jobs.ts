import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { taskChanges } from '../jobs/job-changes.ts'
import { JOB_STATES, jobsPage } from '../jobs/job-page.ts'
import { REGISTRATION_CALL, RegistrationView, type Task, TasksView } from '../jobs/job-view.ts'
import { GivenFields } from '../pages/asked-change.ts'
import { answerChange, askChange } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { refuseMissing } from '../service-calls/service-call.ts'

const LIST = '/operator/tasks'
const JobsQuery = z.object({ state: z.enum(JOB_STATES).prefault('failed') })
const ChangeParams = z.object({ task: z.string().max(64), change: z.string().max(32) })

/** Background work, who may register apps, and the question before dead jobs run again. */
export const jobsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get('/jobs', { schema: { querystring: JobsQuery } }, async (request, reply) => {
    const { state } = request.query
    const { calls } = visitOf(request)
    const [{ value }, registration] = await Promise.all([
      calls.read('payments', LIST, TasksView, { state }),
      calls.read('payments', REGISTRATION_CALL, RegistrationView),
    ])
    return sendPage(request, reply, jobsPage({ ...value, ...registration.value, state }, viewerOf(request)))
  })

  app.get(
    '/jobs/:task/:change',
    { schema: { params: ChangeParams, querystring: GivenFields } },
    async (request, reply) => {
      const named = { name: request.params.change, shown: await readTask(request, request.params) }
      return askChange(request, reply, taskChanges, named)
    },
  )

  app.post('/jobs/:task/:change', { schema: { params: ChangeParams, body: GivenFields } }, async (request, reply) => {
    const named = { name: request.params.change, shown: await readTask(request, request.params) }
    return answerChange(request, reply, taskChanges, named)
  })
}

async function readTask(request: FastifyRequest, { task }: z.infer<typeof ChangeParams>): Promise<Task> {
  const { tasks } = (await visitOf(request).calls.read('payments', LIST, TasksView)).value
  return tasks.find(({ name }) => name === task) ?? refuseMissing()
}
