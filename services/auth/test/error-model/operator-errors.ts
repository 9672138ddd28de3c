import { randomUUID } from 'node:crypto'
import { mayDo, type OperatorRole } from '@trestle/operators/operator-roles.ts'
import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import { runWorkAlone } from '../../src/audit/audit-log.ts'
import { describeMail, describeSms } from '../../src/messages/message-record.ts'
import { insertMessage } from '../../src/messages/message-repository.ts'
import { addSigningKey } from '../../src/use-cases/manage-signing-keys.ts'
import type { MailApp } from '../mail-app.ts'
import { type OperatorEndpoint, operatorEndpoints } from '../operator-endpoints.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from '../operators.ts'
import { createSignedUp } from '../signed-up.ts'
import type { ErrorCase, ErrorCases, Send, World } from './error-case.ts'
import { NO_MESSAGES } from './settings.ts'
import { type Operation, operations, request } from './shared-errors.ts'

interface Endpoint extends OperatorEndpoint {
  readonly operation: Operation
}

const endpoints: readonly Endpoint[] = operatorEndpoints.flatMap((endpoint) => {
  const operation = operations.find(({ name }) => name === endpoint.name)
  return operation === undefined ? [] : [{ ...endpoint, operation }]
})
const isChange = ({ operation }: Endpoint): boolean => operation.method !== 'GET'

/** One operator of each role for each service. */
const signedIn = new Map<MailApp, Map<OperatorRole, Promise<SignedInOperator>>>()
function operatorOf(service: MailApp, role: OperatorRole): Promise<SignedInOperator> {
  const known = signedIn.get(service) ?? new Map<OperatorRole, Promise<SignedInOperator>>()
  signedIn.set(service, known)
  const operator = known.get(role) ?? createOperator(service, role)
  known.set(role, operator)
  return operator
}

interface OperatorCase extends Omit<ErrorCase, 'raise' | 'operation'> {
  readonly role?: OperatorRole
  /** Settings in addition to those for operators. */
  readonly settings?: Readonly<Record<string, string>>
  /** Prepares the service, and returns the request. Default: a valid request about an unknown object. */
  readonly ask?: (asked: InjectOptions, service: MailApp, operator: SignedInOperator) => Promise<InjectOptions>
}

function about(endpoint: Endpoint, { role = 'admin', settings = {}, ask, ...rest }: OperatorCase = {}): ErrorCase {
  const { operation, body } = endpoint
  return {
    ...rest,
    operation: operation.name,
    raise: async (world, send) => {
      const service = await world.service({ ...OPERATOR_SETTINGS, ...settings })
      const operator = await operatorOf(service, role)
      const asked = request(operation, { ...operator.credentials, 'idempotency-key': randomUUID() })
      const good = body === undefined ? asked : { ...asked, payload: body }
      return send(service, ask === undefined ? good : await ask(good, service, operator))
    },
  }
}

const changes = endpoints.filter(isChange)
const named = (name: string): readonly Endpoint[] => endpoints.filter((endpoint) => endpoint.name === name)
const changeOf = ({ deps }: MailApp, actorId: string, key: string) => {
  const fingerprint = Buffer.alloc(32)
  return { id: randomUUID(), actor_id: actorId, key, fingerprint, created_at: deps.now() }
}
/** A request with the key of another change by the same operator. */
const usedKey: OperatorCase['ask'] = async (asked, service, { user }) => {
  const key = randomUUID()
  await service.deps.db
    .insertInto('operator_changes')
    .values(changeOf(service, user.id, key))
    .execute()
  return { ...asked, headers: { ...asked.headers, 'idempotency-key': key } }
}

const ofPromotion = named('post /operator/keys/{kid}/promotion')
const keyChanges = [...ofPromotion, ...named('delete /operator/keys/{kid}')]

/** Adds a signing key that stops verifying after `hours`. @returns its kid */
async function addKey({ deps }: MailApp, state = 'next', hours?: number): Promise<string> {
  const kid = randomUUID()
  await addSigningKey(deps, { alg: 'EdDSA', kid }, runWorkAlone)
  const end = hours === undefined ? null : sql<string>`clock_timestamp() + make_interval(hours => ${hours}::int)`
  await deps.db.updateTable('signing_keys').set({ state, retire_at: end }).where('kid', '=', kid).execute()
  return kid
}

/** A request about a signing key in a given state. */
function ofKey(
  endpoint: Endpoint,
  { state, hours, ...rest }: OperatorCase & { readonly state?: string; readonly hours?: number },
): ErrorCase {
  return about(endpoint, {
    ...rest,
    ask: async (asked, service) => {
      const kid = await addKey(service, state, hours)
      return { ...asked, url: endpoint.operation.path.replace('{kid}', kid) }
    },
  })
}

const RESEND = 'post /operator/messages/{messageId}/resend'
/** A notification, which cannot be sent again. */
const ofMessage = async (asked: InjectOptions, { deps }: MailApp): Promise<InjectOptions> => {
  const { user, email: to } = await createSignedUp(deps)
  const messageId = randomUUID()
  const mail = { kind: 'PASSWORD_CHANGED_NOTIFICATION', messageId, to, userId: user.id } as const
  await insertMessage(deps.db, describeMail(mail))
  return { ...asked, url: `/operator/messages/${messageId}/resend` }
}

/** How many processes run changes in parallel. In each process, the changes of an operator run one after the other. */
const WAITING_MAX = 6
const held = new Map<Send, Promise<ReadonlyMap<string, LightMyRequestResponse>>>()

/**
 * Sends every change while the first request with its Idempotency-Key runs. Each answer takes the whole lock timeout, so the
 * requests wait in parallel, and all cases share the answers.
 * @returns the answers by operation
 */
function askWhileHeld(world: World, send: Send): Promise<ReadonlyMap<string, LightMyRequestResponse>> {
  const asking = held.get(send) ?? askEachWhileHeld(world, send)
  held.set(send, asking)
  return asking
}

async function askEachWhileHeld(world: World, send: Send): Promise<ReadonlyMap<string, LightMyRequestResponse>> {
  const open = (number: number) =>
    world.service({ ...OPERATOR_SETTINGS, AUTH_OPERATOR_SIGN_IN_AS: 'true', AUTH_JWT_EXP: `${3_600 + number}` })
  const service = await open(0)
  const { user, credentials } = await operatorOf(service, 'admin')
  const headers = { ...credentials, 'idempotency-key': randomUUID() }
  const first = await service.deps.db.startTransaction().execute()
  await first
    .insertInto('operator_changes')
    .values(changeOf(service, user.id, headers['idempotency-key']))
    .execute()
  const answers = new Map<string, LightMyRequestResponse>()
  const waiting = [...changes]
  const askNext = async (_pool: unknown, number: number) => {
    const process = await open(number)
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { operation, body: payload } = next
      const asked = { ...request(operation, headers), ...(payload && { payload }) }
      const isResend = operation.name === RESEND
      answers.set(operation.name, await send(process, isResend ? await ofMessage(asked, service) : asked))
    }
  }
  await Promise.all(Array.from({ length: WAITING_MAX }, askNext))
  await first.rollback().execute()
  return answers
}

export const operatorErrors: ErrorCases = {
  notFound: endpoints.map(({ operation }) => ({
    operation: operation.name,
    raise: async (world, send) => send(await world.service(), request(operation, {})),
  })),
  operatorUnauthorized: endpoints.map(({ operation }) => ({
    operation: operation.name,
    raise: async (world, send) => send(await world.service(OPERATOR_SETTINGS), request(operation, {})),
  })),
  operatorForbidden: endpoints
    .filter(({ action }) => !mayDo('viewer', action))
    .map((endpoint) => about(endpoint, { role: 'viewer', details: { action: endpoint.action, role: 'viewer' } })),
  idempotencyKeyMissing: changes.map((endpoint) =>
    about(endpoint, {
      ask: async (asked, _service, { credentials }) => ({ ...asked, headers: { ...credentials } }),
    }),
  ),
  idempotencyKeyMalformed: [
    about(endpoints.find(isChange) ?? never(), {
      ask: async (asked) => ({ ...asked, headers: { ...asked.headers, 'idempotency-key': 'two words' } }),
    }),
  ],
  idempotencyKeyReused: changes.map((endpoint) => about(endpoint, { ask: usedKey })),
  emailExists: [...named('post /operator/users'), ...named('post /operator/users/invitations')].map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => ({ ...asked, payload: { email: (await createSignedUp(service.deps)).email } }),
    }),
  ),
  overEmailRateLimit: [
    ...named('post /operator/users/invitations').map((endpoint) => about(endpoint, { settings: NO_MESSAGES })),
    ...named(RESEND).map((endpoint) => about(endpoint, { settings: NO_MESSAGES, ask: ofMessage })),
  ],
  overSmsRateLimit: named(RESEND).map((endpoint) =>
    about(endpoint, {
      settings: NO_MESSAGES,
      ask: async (asked, { deps }) => {
        const { user } = await createSignedUp(deps)
        const messageId = randomUUID()
        const sms = { purpose: 'one_time_code', channel: 'sms', to: '14155550100', messageId, userId: user.id } as const
        await insertMessage(deps.db, describeSms(sms))
        return { ...asked, url: `/operator/messages/${messageId}/resend` }
      },
    }),
  ),
  sinceInFuture: named('post /operator/users/{userId}/secure').map((endpoint) =>
    about(endpoint, { ask: async (asked) => ({ ...asked, payload: { since: '9999-12-31T23:59:59Z' } }) }),
  ),
  messageNotFound: named(RESEND).map((endpoint) => about(endpoint)),
  messageOver: named(RESEND).map((endpoint) => about(endpoint, { ask: ofMessage })),
  phoneExistsForAdmin: named('put /operator/users/{userId}').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => {
        const phone = `1708${1e6 + Math.floor(9e6 * Math.random())}`
        await createSignedUp(service.deps, { phone })
        const { user } = await createSignedUp(service.deps)
        return { ...asked, url: `/operator/users/${user.id}`, payload: { phone } }
      },
    }),
  ),
  addressMissingToConfirm: named('post /operator/users/{userId}/confirmation').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => {
        const { user } = await createSignedUp(service.deps)
        return { ...asked, url: `/operator/users/${user.id}/confirmation`, payload: { kind: 'phone' } }
      },
    }),
  ),
  signInLinkImpossible: named('post /operator/users/{userId}/sign-in-link').map((endpoint) =>
    about(endpoint, {
      settings: { AUTH_OPERATOR_SIGN_IN_AS: 'true' },
      ask: async (asked, service) => {
        const { user } = await createSignedUp(service.deps, { email_confirmed_at: null })
        return { ...asked, url: `/operator/users/${user.id}/sign-in-link` }
      },
    }),
  ),
  listedSessionNotFound: named('delete /operator/users/{userId}/sessions/{sessionId}').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => {
        const { user } = await createSignedUp(service.deps)
        return { ...asked, url: `/operator/users/${user.id}/sessions/${randomUUID()}` }
      },
    }),
  ),
  operatorChangeRunning: changes.map(({ operation: { name } }) => ({
    operation: name,
    raise: async (world, send) => (await askWhileHeld(world, send)).get(name) ?? never(),
  })),
  signingKeyNotFound: keyChanges.map((endpoint) => about(endpoint)),
  signingKeyTaken: named('post /operator/keys').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => ({ ...asked, payload: { algorithm: 'EdDSA', kid: await addKey(service) } }),
    }),
  ),
  signingKeyInUse: named('delete /operator/keys/{kid}').map((endpoint) =>
    ofKey(endpoint, { state: 'retired', hours: 1 }),
  ),
  signingKeyOver: ofPromotion.map((endpoint) => ofKey(endpoint, { state: 'retired', hours: -1 })),
  signingKeyTooYoung: ofPromotion.map((endpoint) => ofKey(endpoint, {})),
  signingAlgorithmOff: ofPromotion.map((endpoint) =>
    ofKey(endpoint, { settings: { AUTH_JWT_VALID_METHODS: 'HS256' } }),
  ),
  requestTooLarge: changes.map((endpoint) =>
    about(endpoint, {
      text: /^Request body too large \(max \d+ bytes\)$/,
      ask: async (asked) => ({ ...asked, payload: `{"a":"${'x'.repeat(1_048_577)}"}` }),
    }),
  ),
}

function never(): never {
  throw new Error('there is no change of operators')
}
