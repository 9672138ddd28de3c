import { NoConnectionError } from '@trestle/database/unavailable.ts'
import type { FastifyInstance, FastifyRequest, LightMyRequestResponse } from 'fastify'
import { createOperator, OPERATOR_SETTINGS } from '../operators.ts'
import type { ErrorCase, ErrorCases, Send, World } from './error-case.ts'
import { bearerOf, type Operation, operations, request } from './shared-errors.ts'

/** Failures in a route after its guards, by the value of the header. */
const FAULTS: Readonly<Record<string, () => Promise<never>>> = {
  defect: () => Promise.reject(new Error('a secret in /etc/passwd')),
  outage: () => Promise.reject(new NoConnectionError('no connection')),
  silence: () => new Promise(() => {}),
}
const HEADER = 'x-fault'

/** Makes every route fail if the request asks for it. */
export async function failRoutes(app: FastifyInstance): Promise<void> {
  const fail = async ({ headers }: FastifyRequest) => FAULTS[String(headers[HEADER])]?.()
  app.addHook('onRoute', (route) => {
    route.onRequest = [route.onRequest ?? [], fail].flat()
  })
}

/** The guard of operators queries the database first, which may exceed the usual deadline of the test service. */
const PATIENT = { ...OPERATOR_SETTINGS, AUTH_API_MAX_REQUEST_DURATION: '9s' }
const FAILING = { tracing: { instrument: failRoutes } }

type Answers = Promise<ReadonlyMap<string, LightMyRequestResponse>>

/** The same fault at each operation with this status. Requests run in parallel, because late handlers are found at intervals. */
function atEach(status: number, fault: keyof typeof FAULTS): readonly ErrorCase[] {
  const affected = operations.filter(({ statuses }) => statuses.includes(status))
  const asked = new Map<Send, Answers>()
  const askAll = async (world: World, send: Send): Answers => {
    const service = await world.failing()
    const ofOperators = fault === 'silence' ? service : await world.service(PATIENT, () => FAILING)
    const { credentials } = await createOperator(await world.service(OPERATOR_SETTINGS), 'admin')
    const ask = (operation: Operation) =>
      operation.path.startsWith('/operator/')
        ? send(ofOperators, request(operation, { ...credentials, [HEADER]: fault }))
        : send(service, request(operation, { ...bearerOf(operation), [HEADER]: fault }))
    return new Map(await Promise.all(affected.map(async (each) => [each.name, await ask(each)] as const)))
  }
  return affected.map(({ name }) => ({
    operation: name,
    ...(name === 'post /token' ? { oauth: 'server_error' } : {}),
    raise: async (world, send) => {
      const answers = asked.get(send) ?? askAll(world, send)
      asked.set(send, answers)
      const answer = (await answers).get(name)
      if (answer === undefined) throw new Error(`${name} was not asked`)
      return answer
    },
  }))
}

/** Errors of every operation if the service itself fails. */
export const failureErrors: ErrorCases = {
  unexpectedFailure: atEach(500, 'defect'),
  serviceUnavailable: atEach(503, 'outage'),
  requestTimeout: atEach(504, 'silence'),
}
