import { randomUUID } from 'node:crypto'
import { mayDo, type OperatorRole } from '@trestle/service/operators/operator-roles.ts'
import type { InjectOptions } from 'fastify'
import { sql } from 'kysely'
import { runWorkAlone } from '../../src/audit/audit-log.ts'
import { describeMail } from '../../src/messages/message-record.ts'
import { insertMessage } from '../../src/messages/message-repository.ts'
import { addSigningKey } from '../../src/use-cases/add-signing-key.ts'
import type { MailApp } from '../mail-app.ts'
import { type OperatorEndpoint, operatorEndpoints } from '../operator-endpoints.ts'
import { createOperator, OPERATOR_SETTINGS, type SignedInOperator } from '../operators.ts'
import { createSignedUp } from '../signed-up.ts'
import type { ErrorCase, ErrorCases } from './error-case.ts'
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
  /** Beside those of operators. */
  readonly settings?: Readonly<Record<string, string>>
  /** What is done before, and what the request is then. By default a good one about nobody. */
  readonly ask?: (asked: InjectOptions, service: MailApp, operator: SignedInOperator) => Promise<InjectOptions>
}

/** A request of an operator to an endpoint. */
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
/** The key of a change that an operator has made to something else. */
const usedKey: OperatorCase['ask'] = async (asked, service, { user }) => {
  const key = randomUUID()
  await service.deps.db
    .insertInto('operator_changes')
    .values({
      id: randomUUID(),
      actor_id: user.id,
      key,
      fingerprint: Buffer.alloc(32),
      created_at: service.deps.now(),
    })
    .execute()
  return { ...asked, headers: { ...asked.headers, 'idempotency-key': key } }
}

const ofPromotion = named('post /operator/keys/{kid}/promotion')
const keyChanges = [...ofPromotion, ...named('delete /operator/keys/{kid}')]

/** Adds a signing key of a state, which stops verifying after so many hours. @returns its kid */
async function addKey({ deps }: MailApp, state = 'next', hours?: number): Promise<string> {
  const kid = randomUUID()
  await addSigningKey(deps, { alg: 'EdDSA', kid }, runWorkAlone)
  const end = hours === undefined ? null : sql<string>`clock_timestamp() + make_interval(hours => ${hours}::int)`
  await deps.db.updateTable('signing_keys').set({ state, retire_at: end }).where('kid', '=', kid).execute()
  return kid
}

/** A request about a signing key of a state. */
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
/** A notification, which nobody sends again. */
const ofMessage: OperatorCase['ask'] = async (asked, { deps }) => {
  const { user, email: to } = await createSignedUp(deps)
  const messageId = randomUUID()
  const mail = { kind: 'PASSWORD_CHANGED_NOTIFICATION', messageId, to, userId: user.id } as const
  await insertMessage(deps.db, describeMail(mail))
  return { ...asked, url: `/operator/messages/${messageId}/resend` }
}

/** Errors of operators. */
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
  operatorKeyMissing: changes.map((endpoint) =>
    about(endpoint, {
      ask: async (asked, _service, { credentials }) => ({ ...asked, headers: { ...credentials } }),
    }),
  ),
  operatorKeyMalformed: [
    about(endpoints.find(isChange) ?? never(), {
      ask: async (asked) => ({ ...asked, headers: { ...asked.headers, 'idempotency-key': 'two words' } }),
    }),
  ],
  operatorKeyReused: changes.map((endpoint) => about(endpoint, { ask: usedKey })),
  emailExists: [...named('post /operator/users'), ...named('post /operator/users/invitations')].map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => ({ ...asked, payload: { email: (await createSignedUp(service.deps)).email } }),
    }),
  ),
  overEmailRateLimit: [
    ...named('post /operator/users/invitations').map((endpoint) => about(endpoint, { settings: NO_MESSAGES })),
    ...named(RESEND).map((endpoint) => about(endpoint, { settings: NO_MESSAGES, ask: ofMessage })),
  ],
  messageNotFound: named(RESEND).map((endpoint) => about(endpoint)),
  messageOver: named(RESEND).map((endpoint) => about(endpoint, { ask: ofMessage })),
  phoneExistsForAdmin: named('put /operator/users/{userId}').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => {
        const phone = `1708${Math.floor(1e7 * Math.random())}`
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
  operatorChangeRunning: named('put /operator/users/{userId}/ban').map((endpoint) =>
    about(endpoint, {
      ask: async (asked, service) => {
        const { user } = await createSignedUp(service.deps)
        const locking = await service.deps.db.startTransaction().execute()
        await locking.selectFrom('users').select('id').where('id', '=', user.id).forUpdate().execute()
        // Longer than a request waits for a lock, and shorter than the test.
        setTimeout(() => locking.rollback().execute(), 7_000)
        return { ...asked, url: `/operator/users/${user.id}/ban` }
      },
    }),
  ),
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
