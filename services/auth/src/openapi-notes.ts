import type { DocumentedOperation } from '@trestle/common/documents/client-schemas.ts'
import type { DocumentNotes, HeaderNote } from '@trestle/common/documents/complete-document.ts'
import { DOCUMENT_TAG, IF_NONE_MATCH, REQUEST_ID } from '@trestle/common/documents/document-headers.ts'
import { BEARER_CHALLENGE } from './errors.ts'
import examples from './openapi-examples.json' with { type: 'json' }

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

/** Operations that look for users of an audience, or end a flow at a page. */
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

/** The texts of the API document beside the schemas of the routes. test/document-examples.long.test.ts writes the examples. */
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
    // A request may fail for another reason once its redirect is refused. Errors are described once for all operations.
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
