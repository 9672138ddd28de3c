import { z } from 'zod'

const Task = z.looseObject({ name: z.string(), waiting: z.int(), running: z.int(), failed: z.int() })
/** A kind of background work, with how many jobs are in each state. */
export type Task = z.infer<typeof Task>
const Job = z.looseObject({
  id: z.string(),
  task: z.string(),
  created: z.string(),
  attempts: z.int(),
  error: z.string().optional(),
})
/** A job of the queue, without its payload. */
export type Job = z.infer<typeof Job>

/** The tasks of payments, and the jobs in one state. */
export const TasksView = z.object({ tasks: z.array(Task), jobs: z.array(Job) })
export type TasksView = z.infer<typeof TasksView>

const Registration = z.object({ mode: z.enum(['open', 'invited', 'closed']), isClosed: z.boolean() })
/** The rule on who may register apps: what the settings say, and whether an operator has closed it. */
export type Registration = z.infer<typeof Registration>
/** The answer of payments. */
export const RegistrationView = z.object({ registration: Registration })

/** The path at payments of the registration of apps. */
export const REGISTRATION_CALL = '/operator/registration'
/** The path of the page of jobs and the registration of apps. */
export const JOBS_PATH = '/jobs'
