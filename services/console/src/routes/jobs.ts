import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  JOB_STATES,
  jobsPage,
  REGISTRATION_CALL,
  RegistrationView,
  type Task,
  TasksView,
  taskChanges,
} from '../jobs/job-page.ts'
import { addChangeRoutes } from '../plugins/asked-changes.ts'
import { viewerOf, visitOf } from '../plugins/operator.ts'
import { sendPage } from '../plugins/pages.ts'
import { refuseMissing } from '../service-calls/service-call.ts'

const LIST = '/operator/tasks'
const JobsQuery = z.object({ state: z.enum(JOB_STATES).prefault('failed') })
const TaskParams = z.object({ task: z.string().max(64) })

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

  addChangeRoutes(app, '/jobs/:task/:change', { params: TaskParams, changeable: taskChanges, read: readTask })
}

async function readTask(request: FastifyRequest, { task }: z.infer<typeof TaskParams>): Promise<Task> {
  const { tasks } = (await visitOf(request).calls.read('payments', LIST, TasksView)).value
  return tasks.find(({ name }) => name === task) ?? refuseMissing()
}
