import { createSecretKey } from 'node:crypto'
import { createNoopMeter } from '@opentelemetry/api'
import {
  asPart,
  type DocumentedOperation,
  type DocumentPart,
  listOf,
  listOperations,
} from '@trestle/common/documents/client-schemas.ts'
import {
  allowNull,
  completeDocument,
  type DocumentNotes,
  type HeaderNote,
  type Json,
} from '@trestle/common/documents/complete-document.ts'
import { DOCUMENT_TAG, IF_NONE_MATCH, REQUEST_ID } from '@trestle/common/documents/document-headers.ts'
import { createLogger } from '@trestle/common/telemetry/logger.ts'
import { createSilentDatabase } from '@trestle/database/driver/hosts.ts'
import { createNames } from '@trestle/database/names.ts'
import { memoryStore } from '@trestle/rate-limits/limiter-store.ts'
import { buildApp } from './app.ts'
import { loadAuthConfig } from './config.ts'
import type { AuthDeps } from './deps.ts'
import { BEARER_CHALLENGE } from './errors.ts'
import examples from './openapi-examples.json' with { type: 'json' }
import { describeHooks } from './openapi-hooks.ts'
import { createRateLimits } from './rate-limits/rate-limits.ts'
import { needs, withTexts } from './requests/fields.ts'
import { createEncryptionKeys, deriveServerKeys } from './secrets/encrypted-secret.ts'

/** Builds the API document from the schemas of the routes, without connections. */
export async function buildOpenApi(): Promise<object> {
  const app = await buildApp(createDocumentDeps())
  await app.ready()
  const document = await app.describeApi()
  await app.close()
  orderSchemas(document)
  describeRequests(document)
  // A `null` member counts as absent (reference: Request bodies).
  const complete = completeDocument(allowNull(document), { ...documentNotes, webhooks: describeHooks() })
  addWrongMethod(complete)
  return complete
}

/** Schemas of several routes, in document order, which does not depend on the loading order of files. */
const SHARED_SCHEMAS = [
  ...['AuthError', 'Identity', 'Factor', 'User', 'ListedUser', 'AuditEntry', 'Passkey', 'ListedSession', 'Limit'],
  ...['Session', 'SigningKey', 'Operator', 'Message', 'Reason'],
] as const

function orderSchemas(document: object): void {
  const schemas = asPart(asPart(asPart(document).components).schemas)
  const { ...found } = schemas
  for (const name of SHARED_SCHEMAS) {
    Reflect.deleteProperty(schemas, name)
    schemas[name] = found[name]
  }
}

const KEY = Buffer.alloc(32)

const JOBS: AuthDeps['jobs'] = {
  open: refuseUse,
  send: refuseUse,
  reprioritize: refuseUse,
  wake: refuseUse,
  run: refuseUse,
  prepare: refuseUse,
  insert: refuseUse,
  work: refuseUse,
  schedule: refuseUse,
  retryDeadLetterJobs: refuseUse,
  check: refuseUse,
  close: refuseUse,
}

function createDocumentDeps(): AuthDeps {
  const settings = {
    AUTH_SITE_URL: 'http://localhost:3000',
    AUTH_API_EXTERNAL_URL: 'http://localhost:8081',
    AUTH_DB_DRIVER: 'postgres',
    AUTH_DB_DATABASE_URL: 'postgres://localhost/auth',
    AUTH_JWT_SECRET: KEY.toString('base64'),
    AUTH_MAILER_AUTOCONFIRM: 'true',
  }
  const config = loadAuthConfig(settings)
  const pool = { one: refuseUse, first: refuseUse, all: refuseUse }
  return {
    config,
    db: createSilentDatabase(),
    pools: { read: pool, write: pool, lagging: pool },
    names: createNames('auth'),
    logger: createLogger({ level: 'panic', stdout: false }).logger,
    meter: createNoopMeter(),
    tracing: { instrument: async () => {} },
    readiness: { missing: refuseUse, report: refuseUse, markReady: refuseUse, drain: refuseUse },
    now: refuseUse,
    randomBytes: refuseUse,
    passwords: { hash: refuseUse, verify: refuseUse },
    signingKeys: {
      sign: refuseUse,
      verify: refuseUse,
      publicJwks: refuseUse,
      load: refuseUse,
      startPolling: refuseUse,
      stopPolling: refuseUse,
    },
    encryptionKeys: createEncryptionKeys(KEY, []),
    serverKeys: deriveServerKeys(createEncryptionKeys(KEY, [])),
    refreshSession: refuseUse,
    signInByPassword: refuseUse,
    insertSignUp: refuseUse,
    refreshTokenKey: createSecretKey(KEY),
    tokenReuse: { add: refuseUse },
    rateLimits: createRateLimits(config.rateLimits, memoryStore()),
    jobs: JOBS,
    outbox: { wake: refuseUse, start: refuseUse, stop: refuseUse },
    mailer: { send: refuseUse, check: refuseUse, close: refuseUse },
    sms: undefined,
    outbound: { mayCall: refuseUse, send: refuseUse, open: refuseUse },
    keySets: { find: refuseUse },
    hooks: { isOn: refuseUse, isInRequest: refuseUse, call: refuseUse, during: refuseUse },
  }
}

function refuseUse(): never {
  throw new Error('the API document is made without requests')
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'

const FORMS: Readonly<Record<string, (schema: DocumentPart) => Json>> = {
  createSession: (schema) =>
    textsOf(schema, { captcha_token: { type: 'string', description: 'The token of the captcha' } }),
  finishProviderSignInByForm: (schema) => textsOf(schema),
  finishProviderSignInAtOwnAddressByForm: (schema) => textsOf(schema),
  // The form of the confirmation page posts the link's members, so it has no email and no phone.
  verifyCode: ({ properties }) => {
    const { token, token_hash, redirect_to } = asPart(properties)
    // Any type is accepted, because the error is in the redirect.
    const members = { type: { type: 'string', minLength: 1 }, token, token_hash, redirect_to }
    return {
      type: 'object',
      properties: members,
      ...needs('type'),
      anyOf: [withTexts(['token']), withTexts(['token_hash'])],
    }
  },
}

/**
 * Describes inputs other than JSON objects: forms, null, and empty query parameters (reference: Request bodies).
 * @param document is changed
 * @throws Error if a route accepts a form that FORMS does not describe
 */
function describeRequests(document: object): void {
  for (const { part } of listOperations(document)) {
    for (const parameter of listOf(part.parameters)) describeParameter(asPart(parameter))
    describeForm(part)
    describeNull(part)
  }
}

/** An empty parameter counts as absent. */
function describeParameter(parameter: DocumentPart): void {
  if (parameter.in === 'query' && parameter.required !== true) parameter.allowEmptyValue = true
}

/** A `null` body counts as an empty object, which some alternatives of a body allow. */
function describeNull({ requestBody }: DocumentPart): void {
  const schema = asPart(asPart(asPart(asPart(requestBody).content)[JSON_TYPE]).schema)
  const forms = [...listOf(schema.anyOf), ...listOf(schema.oneOf)].map(asPart)
  const mayBeEmpty = forms.length === 0 || forms.some(({ required }) => listOf(required).length === 0)
  if (schema.type === 'object' && listOf(schema.required).length === 0 && mayBeEmpty) schema.type = ['object', 'null']
}

function describeForm({ operationId, requestBody }: DocumentPart): void {
  const content = asPart(asPart(requestBody).content)
  const { [FORM]: form } = content
  if (form === undefined) return
  const formOf = FORMS[String(operationId)]
  if (formOf === undefined) throw new Error(`the form of ${operationId} is not described`)
  content[FORM] = { schema: formOf(asPart(asPart(form).schema)) }
}

/** The text members of a JSON body. A form can contain only these. */
function textsOf({ properties, anyOf }: DocumentPart, more: Json = {}): Json {
  const texts = Object.entries(asPart(properties)).filter(([, member]) => asPart(member).type === 'string')
  return {
    type: 'object',
    properties: { ...Object.fromEntries(texts), ...more },
    ...(anyOf !== undefined && { anyOf }),
  }
}

/** Adds the response for a method that a URL does not have. @param document the complete document, which is changed */
function addWrongMethod(document: object): void {
  const { headers, responses } = asPart(Reflect.get(document, 'components'))
  const { Error404: missing } = asPart(responses)
  asPart(headers).Allow = { description: 'The methods that the URL has.', schema: { type: 'string' }, required: true }
  const allow = { Allow: { $ref: '#/components/headers/Allow' } }
  asPart(responses).Error405 = {
    ...asPart(missing),
    description: 'The URL does not have the method.',
    headers: { ...asPart(asPart(missing).headers), ...allow },
  }
}

const text = { type: 'string' }

const tags = [
  { name: 'Sign-in', description: 'Sign up, sign in by password or by a code, and refresh a session.' },
  { name: 'Account', description: 'The own account of a user: addresses, password and sessions.' },
  { name: 'Providers', description: 'Sign in at an external provider, and link identities to an account.' },
  { name: 'Second factors', description: 'Authenticator apps, phones, security keys and recovery codes.' },
  { name: 'Passkeys', description: 'Sign in with a key on a device, without a password.' },
  {
    name: 'Admin',
    description: 'What an admin does with users, providers and the audit log. Needs the token of an admin.',
  },
  {
    name: 'Operators',
    description: 'What the people who run the service see and do. Needs an operator key and an access token.',
  },
  { name: 'Hooks', description: 'What the service asks or tells a server of the operator. The server answers.' },
  { name: 'Service', description: 'Health, settings and keys of the service.' },
]

/** Operations that look up users in an audience, or that end a flow at a page. */
const WITH_AUDIENCE: ReadonlySet<string> = new Set([
  ...['signUp', 'sendOneTimeCode', 'sendMagicLink', 'recoverAccount', 'resendMessage', 'verifyCode', 'followMailLink'],
  ...['createSession', 'getUser', 'updateUser', 'unlinkIdentity', 'inviteUser', 'generateLink', 'listUsers'],
  ...['createUser', 'createUserWithId', 'getUserById', 'updateUserById', 'deleteUser', 'startProviderSignIn'],
  ...['listUserFactors', 'updateUserFactor', 'deleteUserFactor', 'listUserPasskeys', 'deleteUserPasskey'],
])
const DOCUMENTS: ReadonlySet<string> = new Set(['getApiDocument', 'showDocs'])
const LISTS: ReadonlySet<string> = new Set(['listUsers', 'listAuditLog'])
/** Lists of operators have no total. */
const OPERATOR_LISTS: ReadonlySet<string> = new Set([
  ...['listUsersAsOperator', 'listSessionsAsOperator', 'listAuditLogAsOperator', 'listMessages'],
])
const WITH_REDIRECT: ReadonlySet<string> = new Set([
  ...['signUp', 'sendOneTimeCode', 'sendMagicLink', 'recoverAccount', 'resendMessage', 'inviteUser', 'generateLink'],
  ...['updateUser', 'startProviderSignIn', 'linkIdentity', 'followMailLink', 'verifyCode', 'createUser'],
  ...['createUserWithId', 'createSession', 'createUserAsOperator', 'inviteUserAsOperator'],
  'generateSignInLink',
])

/** The texts of the API document outside the route schemas. test/document-examples.long.test.ts writes the examples. */
export const documentNotes: DocumentNotes = {
  servers: [{ url: '/', description: 'This process' }],
  tags,
  parameters: {
    identifier: 'The identifier of the provider, such as custom:acme',
    state: 'The state that the provider got from auth',
    kid: 'The id of a signing key',
    code: 'The code with which auth asks the provider who has signed in',
  },
  requestHeaders,
  answerHeaders,
  examples,
}

/** Whether an operation is a change of an operator. */
function isChange({ method, tags: [tag] }: DocumentedOperation): boolean {
  return tag === 'Operators' && method !== 'GET'
}

function requestHeaders(operation: DocumentedOperation): Record<string, HeaderNote> {
  const {
    operationId,
    tags: [tag],
  } = operation
  return {
    ...(isChange(operation) && {
      'Idempotency-Key': {
        description: 'A text of 1 to 255 characters, new for each change. A repeat gets the first answer.',
        schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
        required: true,
        example: `${operationId.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}-1042`,
      },
    }),
    ...(tag !== 'Service' && {
      'X-Supabase-Api-Version': {
        description: 'A date. From 2024-01-01 on, errors are `{code, message}`. Another text counts as no version.',
        schema: text,
        example: '2024-01-01',
      },
    }),
    ...(WITH_AUDIENCE.has(operationId) && {
      'X-JWT-AUD': {
        description: 'The audience of the users. Without it, that of the access token, or AUTH_JWT_AUD.',
        schema: text,
        example: 'authenticated',
      },
    }),
    ...(DOCUMENTS.has(operationId) && { 'If-None-Match': IF_NONE_MATCH }),
  }
}

function answerHeaders(operation: DocumentedOperation, status: string): Record<string, HeaderNote> {
  const {
    operationId,
    tags: [tag],
  } = operation
  return {
    'X-Request-Id': REQUEST_ID,
    ...(DOCUMENTS.has(operationId) && (status === '200' || status === '304') && { ETag: DOCUMENT_TAG }),
    ...(tag !== 'Service' &&
      status !== '431' && {
        'X-Supabase-Api-Version': {
          description: 'The version of the error bodies, where the request asks for one.',
          schema: text,
          example: '2024-01-01',
        },
      }),
    ...(status === '401' && {
      'WWW-Authenticate': {
        description: 'How a client proves who it is (RFC 9110).',
        schema: text,
        required: true,
        example: BEARER_CHALLENGE['www-authenticate'],
      },
    }),
    ...((status === '429' || status === '503' || (status === '409' && isChange(operation))) && {
      'Retry-After': {
        description: 'Seconds to wait before another attempt. A 409 that will never succeed has none.',
        schema: { type: 'integer', minimum: 1 },
        example: 60,
      },
    }),
    ...(isChange(operation) && status < '300' && { 'Idempotent-Replayed': REPLAYED }),
    ...(status.startsWith('3') &&
      status !== '304' && {
        Location: { description: 'Where the browser goes.', schema: { type: 'string' }, required: true },
      }),
    ...(status === '200' && LISTS.has(operationId) && listHeaders),
    ...(status === '200' && OPERATOR_LISTS.has(operationId) && { Link: listHeaders.Link }),
    // A request with a refused redirect may also fail for another reason. Errors are described once.
    ...((status < '400' ? WITH_REDIRECT.has(operationId) : status !== '431' && tag !== 'Service') && {
      'X-Redirect-Refused': {
        description: 'Which rule refused the redirect of the request, and where the redirect was named.',
        schema: text,
        example: 'not-listed; source=query',
      },
    }),
  }
}

const REPLAYED = {
  description: 'true where this is the answer to an earlier request with the same key.',
  schema: { type: 'string', enum: ['true'] },
}

const listHeaders = {
  Link: {
    description: 'The next page, and by page numbers the last page too (RFC 8288).',
    schema: text,
    example: '</admin/users?page=2&per_page=50>; rel="next", </admin/users?page=3&per_page=50>; rel="last"',
  },
  'X-Total-Count': {
    description: 'How long the list is. Absent with `cursor`.',
    schema: { type: 'integer' },
    example: 123,
  },
}
