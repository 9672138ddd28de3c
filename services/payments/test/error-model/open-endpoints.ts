import type { ErrorFactory } from '@trestle/common/errors/define-error.ts'
import type { InjectOptions } from 'fastify'
import * as errors from '../../src/errors.ts'
import { hashToken } from '../../src/members/invitation.ts'
import { createTestMerchant } from '../payments-app.ts'
import type { Wrong } from './endpoints.ts'
import type { World } from './world.ts'

/** The host whose root is the payment page. */
export const POS_HOST = 'pay.example'
/** The host whose root is the vault. */
export const VAULT_HOST = 'vault.example'

/** An endpoint without authentication: a page for browsers, or a document for tools. */
export interface OpenEndpoint {
  /** The name as in the API document, such as `GET /pos`. */
  readonly name: string
  /** A request that passes all checks before the endpoint. */
  readonly request: InjectOptions
  /** The answer after a failure: the error as JSON, or a page with this text. */
  readonly onFault: PageAnswer | 'json'
  readonly refusals: readonly OpenRefusal[]
}

/** An answer that is a page. */
export interface PageAnswer {
  /** The complete visible text. */
  readonly page: string
}

/** A request that an open endpoint refuses. */
export interface OpenRefusal {
  readonly status: number
  readonly title: string
  /** The complete answer: an error of the catalogue, wrong fields, or a page. */
  readonly answer: PageAnswer | ErrorFactory | readonly Wrong[]
  /** The parts that differ from a valid request. */
  readonly changes?: InjectOptions | ((world: World) => Promise<InjectOptions>)
  /** The service that refuses the request: one with limits, one with a locked database, or one that requires TLS. */
  readonly by?: 'limited' | 'locked' | 'strict'
}

/** The page of an error that a customer cannot resolve. */
export const TROUBLE: PageAnswer = {
  page: 'Something went wrong Please wait a moment and reload this page. You will not be charged twice.',
}
const NO_LINK: PageAnswer = {
  page: 'This payment link does not work The link does not say whom to pay. Nothing was charged. Please ask the shop for a new link.',
}
const NO_MERCHANT: PageAnswer = {
  page: 'This payment link does not work No shop is known by this link. Nothing was charged. Please ask the shop for a new link.',
}
const NO_INVITATION: PageAnswer = {
  page: 'There is no such invitation It may have been withdrawn, or the link is incomplete. Ask whoever invited you for a new one.',
}
const NO_STATE: PageAnswer = {
  page: 'This payment is not known here Its link is incomplete or too old. Go back to the shop and begin again.',
}
/** The answer to a link or a receipt without TLS. */
const INSECURE: PageAnswer = {
  page: 'This payment link does not work The page was opened without a secure connection (https). Nothing was charged. Please ask the shop for a new link.',
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const KEY = '00000000-0000-4000-8000-000000000000'
const LINK = `key=${KEY}`

const tooLarge = (answer: OpenRefusal['answer']): OpenRefusal => ({
  status: 413,
  title: 'a body of more than 128 KiB',
  answer,
  changes: { headers: FORM, payload: 'a'.repeat(131_073) },
})
const unreadable = (answer: OpenRefusal['answer']): OpenRefusal => ({
  status: 415,
  title: 'a body of another media type',
  answer,
  changes: { headers: { 'content-type': 'text/xml' }, payload: '<a/>' },
})
const limited = (answer: OpenRefusal['answer']): OpenRefusal => ({
  status: 429,
  title: 'requests beyond a limit',
  answer,
  by: 'limited',
})
const locked = (answer: OpenRefusal['answer']): OpenRefusal => ({
  status: 409,
  title: 'a request that waits for a lock in vain',
  answer,
  by: 'locked',
})
const strict = (answer: OpenRefusal['answer']): OpenRefusal => ({
  status: 400,
  title: 'a request without TLS',
  answer,
  by: 'strict',
})
const unknownKey = (request: InjectOptions = {}): OpenRefusal => ({
  status: 404,
  title: 'the link of an unknown merchant',
  answer: NO_MERCHANT,
  changes: request,
})
const expired: OpenRefusal = {
  status: 410,
  title: 'an expired invitation',
  answer: { page: 'This invitation has expired Ask whoever invited you for a new one.' },
  changes: async (world) => ({ url: `/invitations/${await createExpiredInvitation(world)}` }),
}
const unknownState: OpenRefusal = { status: 400, title: 'a state that is not ours', answer: NO_STATE }

/** Invites a user to a new merchant, and expires the invitation. @returns its token */
async function createExpiredInvitation({ make, payments, owner }: World): Promise<string> {
  const { id } = await createTestMerchant(payments, owner)
  await make('POST', `/merchants/${id}/users`, { email: 'late@example.com' })
  await payments.database.db
    .updateTable('invitations')
    .set({ expires: new Date('2026-01-01'), token_hash: hashToken(id) })
    .where('merchant_id', '=', id)
    .execute()
  return id
}

const toPost = (url: string, payload: string): InjectOptions => ({ method: 'POST', url, headers: FORM, payload })
const card = { method: 'POST', url: '/', payload: { type: 'pcsc', value: '111' } } as const

/** All endpoints with the tags Pages and Service, and those at the root of other hosts. */
export const openEndpoints: readonly OpenEndpoint[] = [
  ...['/health', '/ready', '/openapi.json', '/docs'].map((url): OpenEndpoint => {
    return { name: `GET ${url}`, request: { url }, onFault: 'json', refusals: [] }
  }),
  {
    name: 'GET /assets/{name}',
    request: { url: '/assets/page.css' },
    onFault: 'json',
    refusals: [
      { status: 404, title: 'an unknown file', answer: errors.endpointNotFound, changes: { url: '/assets/none.css' } },
    ],
  },
  {
    name: 'GET /invitations/{token}',
    request: { url: '/invitations/none' },
    onFault: 'json',
    refusals: [
      { status: 404, title: 'an unknown invitation', answer: NO_INVITATION },
      expired,
      limited(errors.rateLimited),
    ],
  },
  {
    name: 'POST /invitations/{token}',
    request: toPost('/invitations/none', ''),
    onFault: 'json',
    refusals: [
      {
        status: 400,
        title: 'a body that cannot be parsed',
        answer: [['body', 'is not valid JSON', 'FORMAT']],
        changes: { headers: { 'content-type': 'application/json' }, payload: '{' },
      },
      { status: 404, title: 'an unknown invitation', answer: NO_INVITATION },
      locked(errors.conflict),
      expired,
      tooLarge(errors.payloadTooLarge),
      unreadable(errors.unsupportedMediaType),
      limited(errors.rateLimited),
    ],
  },
  {
    name: 'GET /acs/challenge',
    request: { url: '/acs/challenge?state=Zm9v' },
    onFault: 'json',
    refusals: [unknownState],
  },
  {
    name: 'POST /acs/challenge',
    request: toPost('/acs/challenge', 'state=Zm9v'),
    onFault: 'json',
    refusals: [unknownState, locked(errors.conflict), tooLarge(errors.payloadTooLarge)],
  },
  {
    name: 'POST /acs/fingerprint',
    request: toPost('/acs/fingerprint', 'state=Zm9v'),
    onFault: 'json',
    refusals: [unknownState, tooLarge(errors.payloadTooLarge)],
  },
  {
    name: 'POST /',
    request: { ...card, headers: { host: VAULT_HOST, 'accept-version': '1' } },
    onFault: 'json',
    refusals: [
      {
        status: 400,
        title: 'a request without a version',
        answer: errors.versionMissing,
        changes: { headers: { host: VAULT_HOST } },
      },
      {
        status: 404,
        title: 'a request to another host',
        answer: errors.endpointNotFound,
        changes: { headers: { host: 'payments.example', 'accept-version': '1' } },
      },
      {
        status: 413,
        title: 'a body of more than 4 KiB',
        answer: errors.payloadTooLarge,
        changes: { payload: { type: 'pcsc', value: '1'.repeat(4_096) } },
      },
      limited(errors.rateLimited),
    ],
  },
  {
    name: 'GET /',
    request: { url: `/?${LINK}`, headers: { host: POS_HOST } },
    onFault: TROUBLE,
    refusals: [
      { status: 400, title: 'an address without a link', answer: NO_LINK, changes: { url: '/' } },
      unknownKey(),
    ],
  },
  {
    name: 'GET /',
    request: { url: `/?${LINK}`, headers: { host: 'payments.example' } },
    onFault: 'json',
    refusals: [{ status: 404, title: 'a link at another host', answer: errors.endpointNotFound }],
  },
  {
    name: 'GET /pos',
    request: { url: `/pos?${LINK}` },
    onFault: TROUBLE,
    refusals: [
      { status: 400, title: 'an address without a link', answer: NO_LINK, changes: { url: '/pos' } },
      unknownKey(),
    ],
  },
  {
    name: 'POST /pos',
    request: toPost('/pos', `link=${encodeURIComponent(LINK)}`),
    onFault: TROUBLE,
    refusals: [
      { status: 400, title: 'a form without a link', answer: TROUBLE, changes: { payload: 'amount=5' } },
      unknownKey(),
      tooLarge(TROUBLE),
      unreadable(TROUBLE),
    ],
  },
  {
    name: 'POST /pos/pay',
    request: toPost('/pos/pay', `link=${encodeURIComponent(LINK)}&page=${'x'.repeat(22)}`),
    onFault: TROUBLE,
    refusals: [
      { status: 400, title: 'a form without a link', answer: TROUBLE, changes: { payload: 'number=4' } },
      unknownKey(),
      locked(TROUBLE),
      tooLarge(TROUBLE),
      unreadable(TROUBLE),
      limited(TROUBLE),
    ],
  },
  ...['/pos/pay', '/pos/pay/{pageId}'].map((path): OpenEndpoint => {
    const url = path.replace('{pageId}', 'x'.repeat(22))
    const withoutLink: OpenRefusal = {
      status: 400,
      title: 'an address without a link',
      answer: NO_LINK,
      changes: { url },
    }
    return {
      name: `GET ${path}`,
      request: { url: `${url}?${LINK}` },
      onFault: TROUBLE,
      refusals: [withoutLink, unknownKey(), locked(TROUBLE), limited(TROUBLE)],
    }
  }),
  {
    name: 'GET /pos/receipt',
    request: { url: '/pos/receipt' },
    onFault: TROUBLE,
    refusals: [
      strict(INSECURE),
      {
        status: 404,
        title: 'an address that is not ours',
        answer: {
          page: 'Something went wrong This receipt cannot be shown. If you have paid, your payment stands, and the shop can confirm it.',
        },
      },
    ],
  },
]
