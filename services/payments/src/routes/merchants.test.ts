import { randomInt } from 'node:crypto'
import { anyId, anyUuid } from '@trestle/testing/any-text.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lastAudit, operatorAudit } from '../../test/audit.ts'
import { errorBodies, refusals, refusedField, statusAndBody } from '../../test/bodies.ts'
import {
  basic,
  createdOf,
  createTestApp,
  createTestMerchant,
  merchantBody,
  startPayments,
  type TestApp,
  type TestPayments,
  UNKNOWN_ID,
} from '../../test/payments-app.ts'

let payments: TestPayments
let member: TestApp
let stranger: TestApp
beforeAll(async () => {
  payments = await startPayments()
  member = await createTestApp(payments)
  stranger = await createTestApp(payments)
})
afterAll(() => payments.close())

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const inject = (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object | string, headers: object = {}) =>
  payments.app.inject({
    method,
    url,
    headers: { ...member.headers, ...headers },
    ...(payload === undefined ? {} : { payload }),
  })
const required = (field: string) => ({ field, message: 'is required', code: 'REQUIRED' })

/** Returns the merchant that a request with `merchantBody` creates, including the fields that the server sets. */
function expected(id: string, changes: object = {}) {
  return {
    id,
    key: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
    ...merchantBody,
    test: false,
    created: createdOf(id),
    balance: 0,
    claim: {
      canChargeCard: true,
      canSaveCard: true,
      canTransferToCard: false,
      canCapture: true,
      canRefund: true,
      canVoid: true,
    },
    pricing: { rate: 135, flat: { currency: 'EUR', amount: 25 }, dispute: { currency: 'EUR', amount: 2500 } },
    tds: { mode: 'attempt' },
    ...changes,
  }
}

describe('POST /merchants', () => {
  it('201: makes a merchant from the five required fields', async () => {
    const response = await inject('POST', '/merchants', merchantBody)
    expect(response.statusCode).toBe(201)
    const { merchant } = response.json()
    expect(merchant).toEqual(expected(merchant.id))
    expect(response.body.endsWith('}\n')).toBe(true)
  })

  const all = {
    name: 'Coffee & John',
    currency: 'EUR',
    test: true,
    email: 'john@example.com',
    website: 'example.com',
    descriptor: ' Coffee  ',
    company: { country: 'SE', number: '123' },
    bank: { iban: 'SE00 1234 5678' },
  }
  it.each([
    ['JSON', all, {}],
    [
      'form',
      'name=Coffee+%26+John&currency=EUR&test=yes&email=john%40example.com&website=example.com&descriptor=+Coffee++' +
        '&company[country]=SE&company%5Bnumber%5D=123&bank[iban]=se00+1234+5678',
      FORM,
    ],
  ])('201: takes every field as %s, and GET and the list answer the same', async (_kind, payload, headers) => {
    const response = await inject('POST', '/merchants', payload, headers)
    expect(response.statusCode).toBe(201)
    const { merchant } = response.json()
    expect(merchant).toEqual(expected(merchant.id, { ...all, bank: { iban: 'SE0012345678' } }))
    expect((await inject('GET', `/merchants/${merchant.id}`)).body).toBe(response.body)
    const list = await inject('GET', `/identities/${member.id}/merchants?limit=1`)
    expect(list.body).toBe(`[\n${response.body.slice('{"merchant":'.length, -2)}\n]\n`)
  })

  it('201: takes the longest texts that are allowed, of three bytes a character', async () => {
    const chinese = (length: number) =>
      String.fromCodePoint(...Array.from({ length }, () => 0x4e00 + randomInt(20_000)))
    const start = 'https://shop.example/'
    const longest = { name: chinese(255), website: start + chinese(2_048 - start.length) }
    const response = await inject('POST', '/merchants', { ...merchantBody, ...longest })
    const { merchant } = response.json()
    expect([response.statusCode, merchant]).toEqual([201, expected(merchant.id, longest)])
  })

  it('201: writes tag, membership, balance and audit log in one database transaction with the merchant', async () => {
    const { id } = await createTestMerchant(payments, member)
    const { db } = payments.database
    const row = await db.selectFrom('merchants').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    expect(row).toEqual({
      tag: id.slice(16),
      acquirer: null,
      created: new Date(createdOf(id)),
      id,
      key: anyUuid,
      name: null,
      currency: 'DKK',
      test: false,
      email: 'john@example.com',
      website: 'https://example.com',
      descriptor: 'Coffee & John',
      country: 'DK',
      company_number: null,
      iban: null,
      holder: null,
      claim: {
        canVoid: true,
        canRefund: true,
        canCapture: true,
        canSaveCard: true,
        canChargeCard: true,
        canTransferToCard: false,
      },
      pricing: { flat: { amount: 25, currency: 'EUR' }, rate: 135, dispute: { amount: 2_500, currency: 'EUR' } },
      tds_mode: 'attempt',
    })
    expect(await db.selectFrom('merchant_apps').selectAll().where('merchant_id', '=', id).execute()).toEqual([
      { merchant_id: id, app_id: member.id, pending: false, invited_by: null, created: row.created },
    ])
    const {
      rows: [session],
    } = await sql<{ login: string }>`SELECT session_user::text AS login`.execute(db)
    const [state] = await db.selectFrom('state_entries').selectAll().where('merchant_id', '=', id).execute()
    expect(state).toEqual({
      table_name: 'merchants',
      row_id: id,
      merchant_id: id,
      id: anyId,
      created: expect.any(Date),
      money: expect.any(Buffer),
      party: expect.any(Buffer),
      terms: expect.any(Buffer),
      login: session?.login,
      hash: expect.any(Buffer),
      hash_version: 1,
    })
    expect(await db.selectFrom('merchant_balances').selectAll().where('merchant_id', '=', id).execute()).toEqual([
      {
        merchant_id: id,
        currency: 'DKK',
        balance: 0n,
        last_id: state?.id,
        line_count: 0n,
        chain_head: Buffer.alloc(32),
        chain_length: 0n,
        clock_offset: 0n,
        expired_id: '',
        state_head: state?.hash,
        state_length: 1n,
      },
    ])
    expect(await db.selectFrom('audit').selectAll().where('merchant_id', '=', id).execute()).toEqual([
      {
        identity_id: member.id,
        action: 'app.added',
        payload: { appId: member.id },
        merchant_id: id,
        id: anyId,
        created: expect.any(Date),
      },
    ])
  })

  const missing = ['currency', 'email', 'website', 'descriptor', 'company.country'].map(required)
  it.each([
    ['no body at all', undefined, {}],
    ['an empty JSON body', '', { 'content-type': 'application/json' }],
    ['an empty object', '{}', { 'content-type': 'application/json' }],
    ['an empty company', '{"company":{}}', { 'content-type': 'application/json' }],
    ['an empty form', '', FORM],
    ['empty texts', 'currency=&email=&website=&descriptor=&company[country]=&company[number]=', FORM],
    ['nulls', '{"currency":null,"email":null,"company":null}', { 'content-type': 'application/json' }],
  ])('400: names the five required fields for %s', async (_name, payload, headers) => {
    const response = await inject('POST', '/merchants', payload, headers)
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(missing)
  })

  // ASVS 2.2.1, 2.2.2, 15.3.5
  it.each<[object, string, string, string]>([
    [{ name: 'x'.repeat(256) }, 'name', 'RANGE', 'must be at most 255 characters'],
    [{ currency: 'dkk' }, 'currency', 'FORMAT', 'must be three upper-case letters'],
    [{ currency: 'XXX' }, 'currency', 'UNKNOWN', 'must be a funding currency'],
    [{ currency: 'AED' }, 'currency', 'UNKNOWN', 'must be a funding currency'],
    [{ currency: 208 }, 'currency', 'TYPE', 'must be a string'],
    [{ test: 'yes' }, 'test', 'TYPE', 'must be a boolean'],
    [{ test: 1 }, 'test', 'TYPE', 'must be a boolean'],
    [{ email: 'john' }, 'email', 'FORMAT', 'must be an e-mail address'],
    [{ website: 'ftp://x' }, 'website', 'FORMAT', 'must be an http or https URL or a host name'],
    [{ descriptor: 'x' }, 'descriptor', 'RANGE', 'must be at least 2 characters'],
    [{ descriptor: 'Café' }, 'descriptor', 'FORMAT', 'must be printable ASCII characters'],
    [{ descriptor: '  ' }, 'descriptor', 'FORMAT', 'must have at least 2 characters that are not blanks'],
    [{ descriptor: ' A ' }, 'descriptor', 'FORMAT', 'must have at least 2 characters that are not blanks'],
    [{ company: 'DK' }, 'company', 'TYPE', 'must be an object'],
    [{ company: [] }, 'company', 'TYPE', 'must be an object'],
    [{ company: { country: 'dk' } }, 'company.country', 'FORMAT', 'must be two upper-case letters'],
    [{ company: { country: 'XX' } }, 'company.country', 'UNKNOWN', 'must be a country code of ISO 3166-1'],
    [
      { company: { country: 'DK', number: 'x'.repeat(65) } },
      'company.number',
      'RANGE',
      'must be at most 64 characters',
    ],
    [{ bank: { iban: 'DK5' } }, 'bank.iban', 'FORMAT', 'must be an IBAN'],
    [{ bank: { iban: 'DK5100400440116243' } }, 'bank.iban', 'FORMAT', 'must have right check digits'],
    [{ website: 'a\0b' }, 'website', 'FORMAT', 'must not contain U+0000 or lone surrogates'],
  ])('400: refuses %j', async (changes, field, code, message) => {
    const response = await inject('POST', '/merchants', { ...merchantBody, ...changes })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual([{ field, message, code }])
  })

  it('400: names every field that is wrong, in the order of the body', async () => {
    const response = await inject('POST', '/merchants', {
      ...merchantBody,
      bank: { iban: 'DK5100400440116243' },
      descriptor: 'x',
      name: 5,
      currency: 'dkk',
    })
    expect(statusAndBody(response)).toEqual([
      400,
      [
        { field: 'name', message: 'must be a string', code: 'TYPE' },
        { field: 'currency', message: 'must be three upper-case letters', code: 'FORMAT' },
        { field: 'descriptor', message: 'must be at least 2 characters', code: 'RANGE' },
        { field: 'bank.iban', message: 'must have right check digits', code: 'FORMAT' },
      ],
    ])
  })

  it('201: keeps the owner of the account, which a later PUT may repeat and not change', async () => {
    const bank = { iban: 'DE89370400440532013000', holder: ' Юрий ЕООД ' }
    const created = await inject('POST', '/merchants', { ...merchantBody, bank })
    const { merchant } = created.json()
    const shown = { ...expected(merchant.id), bank: { iban: bank.iban, holder: 'Юрий ЕООД' } }
    expect([created.statusCode, merchant]).toEqual([201, shown])
    const repeated = await inject('PUT', `/merchants/${merchant.id}`, { bank })
    const changed = await inject('PUT', `/merchants/${merchant.id}`, { bank: { ...bank, holder: 'Ivan' } })
    expect([repeated.statusCode, statusAndBody(changed)]).toEqual([
      204,
      refusedField('bank.holder', 'cannot be changed', 'IMMUTABLE'),
    ])
  })

  const createPaid = (test: boolean, number: string) =>
    inject('POST', '/merchants', { ...merchantBody, test, bank: { iban: number } })

  it.each([
    ['a test merchant’s IBAN of any digits', true, 'XX00000000'],
    ['a live merchant’s IBAN with right check digits', false, 'DK50 0040 0440 1162 43'],
  ])('201: accepts %s, and shows it without spaces', async (_what, test, accepted) => {
    const response = await createPaid(test, accepted)
    const { merchant } = response.json()
    const bank = { iban: accepted.replaceAll(' ', '') }
    expect([response.statusCode, merchant]).toEqual([201, { ...expected(merchant.id), test, bank }])
  })

  it.each([
    ['a test merchant’s account in another form', true, 'XX00', 'must be an IBAN'],
    ['a live merchant’s IBAN with wrong check digits', false, 'XX00000000', 'must have right check digits'],
    ['a live merchant’s IBAN that is short', false, 'DE5137040044053201300', 'must be an IBAN of its country'],
    ['a live merchant’s IBAN of no country', false, 'XX0912345678', 'must be an IBAN of its country'],
    ['a live merchant’s IBAN of another form', false, 'GB25123412345698765432', 'must be an IBAN of its country'],
  ])('400: refuses %s', async (_what, test, refused, message) => {
    expect(statusAndBody(await createPaid(test, refused))).toEqual(refusedField('bank.iban', message, 'FORMAT'))
  })

  it('401: refuses an unknown key, whatever the body', async () => {
    for (const payload of [merchantBody, {}]) {
      expect(statusAndBody(await inject('POST', '/merchants', payload, basic('x')))).toEqual(refusals.unauthorized)
    }
  })
})

describe('GET /merchants/:merchantId', () => {
  it('200: accepts upper case, a trailing slash, and HEAD', async () => {
    const { id } = await createTestMerchant(payments, member)
    const response = await inject('GET', `/merchants/${id.toUpperCase()}/`)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ merchant: expected(id) })
    const head = await payments.app.inject({ method: 'HEAD', url: `/merchants/${id}`, headers: member.headers })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(String(Buffer.byteLength(response.body)))
  })

  it('401: refuses an unknown key before it looks for the merchant', async () => {
    const refusal = async (merchantId: string, { headers }: { headers: object }) =>
      statusAndBody(await inject('GET', `/merchants/${merchantId}`, undefined, headers))
    const unknownKey = { headers: basic('x') }
    expect(await refusal(UNKNOWN_ID, unknownKey)).toEqual(refusals.unauthorized)
    expect(await refusal('nonsense', unknownKey)).toEqual(refusals.unauthorized)
  })

  it('404: refuses an id that names no merchant, before access is judged', async () => {
    const { id } = await createTestMerchant(payments, member)
    const refusal = async (merchantId: string, { headers }: { headers: object }) =>
      statusAndBody(await inject('GET', `/merchants/${merchantId}`, undefined, headers))
    expect(await refusal(UNKNOWN_ID, stranger)).toEqual(refusals.notFound)
    expect(await refusal('nonsense', stranger)).toEqual(refusals.notFound)
    expect(await refusal('%00', stranger)).toEqual(refusals.notFound)
    expect(await refusal(`${id}0`, member)).toEqual(refusals.notFound)
  })

  it('403: refuses an app that is no member', async () => {
    const { id } = await createTestMerchant(payments, member)
    const refusal = async (merchantId: string, { headers }: { headers: object }) =>
      statusAndBody(await inject('GET', `/merchants/${merchantId}`, undefined, headers))
    expect(await refusal(id, stranger)).toEqual(refusals.forbidden)
  })

  it('403: refuses from the moment of revocation', async () => {
    const { id } = await createTestMerchant(payments, member)
    await payments.database.db.deleteFrom('merchant_apps').where('merchant_id', '=', id).execute()
    expect(statusAndBody(await inject('GET', `/merchants/${id}`))).toEqual(refusals.forbidden)
  })
})

describe('PUT /merchants/:merchantId', () => {
  it.each([
    ['JSON', { name: 'New', email: ' new@example.com ', descriptor: 'New text' }, {}],
    ['form', 'name=New&email=new%40example.com&descriptor=New+text', FORM],
  ])('204: changes name, email and descriptor as %s', async (_kind, payload, headers) => {
    const { id } = await createTestMerchant(payments, member)
    const response = await inject('PUT', `/merchants/${id}`, payload, headers)
    expect([response.statusCode, response.body, response.headers['content-type']]).toEqual([204, '', undefined])
    const changes = { name: 'New', email: 'new@example.com', descriptor: 'New text' }
    expect((await inject('GET', `/merchants/${id}`)).json()).toEqual({ merchant: expected(id, changes) })
  })

  it('204: records in the audit log who has changed what, and nothing where no value changes', async () => {
    const { id } = await createTestMerchant(payments, member)
    const payload = { email: 'new@example.com', unknown: 1 }
    expect((await inject('PUT', `/merchants/${id}`, payload)).statusCode).toBe(204)
    const change = { ...operatorAudit('merchant.changed', { email: 'new@example.com' }, id), identity_id: member.id }
    expect(await lastAudit(payments)).toEqual(change)
    const count = () => payments.database.db.selectFrom('audit').select('id').where('merchant_id', '=', id).execute()
    const before = await count()
    expect((await inject('PUT', `/merchants/${id}`, payload)).statusCode).toBe(204)
    expect(await count()).toEqual(before)
  })

  it.each([[{ name: '' }], [{ name: null }]])('204: %j removes the name', async (payload) => {
    const { id } = await createTestMerchant(payments, member, { name: 'Old' })
    expect(statusAndBody(await inject('PUT', `/merchants/${id}`, payload))).toEqual([204, ''])
    expect((await inject('GET', `/merchants/${id}`)).json()).toEqual({ merchant: expected(id) })
  })

  it.each([
    [{}],
    [undefined],
    [{ email: '', descriptor: null, currency: '', company: { number: '' } }],
    [{ unknown: 1 }],
  ])('204: %j changes nothing', async (payload) => {
    const { id } = await createTestMerchant(payments, member, { name: 'Old' })
    expect(statusAndBody(await inject('PUT', `/merchants/${id}`, payload))).toEqual([204, ''])
    expect((await inject('GET', `/merchants/${id}`)).json()).toEqual({ merchant: expected(id, { name: 'Old' }) })
  })

  it('204: accepts the whole merchant as it was answered', async () => {
    const whole = { test: true, company: { country: 'DK', number: '1' }, bank: { iban: 'DK50 0040 0440 1162 43' } }
    const merchant = await createTestMerchant(payments, member, whole)
    expect(statusAndBody(await inject('PUT', `/merchants/${merchant.id}`, merchant))).toEqual([204, ''])
    expect(
      statusAndBody(await inject('PUT', `/merchants/${merchant.id}`, 'test=yes&bank[iban]=dk5000400440116243', FORM)),
    ).toEqual([204, ''])
  })

  it('204: accepts immutable members as they were first written', async () => {
    const values = { currency: ' DKK ', website: ' x.example ', company: { country: ' DK ', number: ' 1 ' } }
    const merchant = await createTestMerchant(payments, member, values)
    expect(statusAndBody(await inject('PUT', `/merchants/${merchant.id}`, values))).toEqual([204, ''])
    expect((await inject('GET', `/merchants/${merchant.id}`)).json()).toEqual({ merchant })
  })

  // ASVS 8.2.3, 15.3.3
  it.each<[object, string[]]>([
    [{ currency: 'EUR' }, ['currency']],
    [{ currency: 5 }, ['currency']],
    [{ currency: ['DKK'] }, ['currency']],
    [{ website: 'https://example.com\0' }, ['website']],
    [{ key: '\ud800', id: { '\0': ['\0'] } }, ['id', 'key']],
    [{ test: true }, ['test']],
    [{ website: 'https://other.example' }, ['website']],
    [{ company: { country: 'SE' } }, ['company.country']],
    [{ company: { country: 'DK', number: '1' } }, ['company.number']],
    [{ company: 'DK' }, ['company']],
    [{ bank: { iban: 'DK5000400440116243' } }, ['bank.iban']],
    [{ key: '00000000-0000-4000-8000-000000000000', id: UNKNOWN_ID }, ['id', 'key']],
    [{ created: '2026-01-01T00:00:00.000Z' }, ['created']],
  ])('400: %j cannot be changed, and nothing else is', async (fixed, fields) => {
    const { id } = await createTestMerchant(payments, member)
    const response = await inject('PUT', `/merchants/${id}`, { name: 'New', ...fixed })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toEqual(fields.map((field) => ({ field, message: 'cannot be changed', code: 'IMMUTABLE' })))
    expect((await inject('GET', `/merchants/${id}`)).json()).toEqual({ merchant: expected(id) })
  })

  it('400: names refused values and changed immutable members together', async () => {
    const { id } = await createTestMerchant(payments, member)
    const response = await inject('PUT', `/merchants/${id}`, { email: 'x', currency: 'EUR', website: 'x.example' })
    expect(statusAndBody(response)).toEqual([
      400,
      [
        { field: 'email', message: 'must be an e-mail address', code: 'FORMAT' },
        { field: 'currency', message: 'cannot be changed', code: 'IMMUTABLE' },
        { field: 'website', message: 'cannot be changed', code: 'IMMUTABLE' },
      ],
    ])
  })

  const [xml, json] = [{ 'content-type': 'text/xml' }, { 'content-type': 'application/json' }]
  const refusal = async (merchantId: string, payload: string, headers: object) =>
    statusAndBody(await inject('PUT', `/merchants/${merchantId}`, payload, headers))

  it('401: refuses an unknown key before the body is read', async () => {
    expect(await refusal(UNKNOWN_ID, 'x', { ...xml, ...basic('x') })).toEqual(refusals.unauthorized)
  })

  it('415: refuses another media type before it looks for the merchant', async () => {
    expect(await refusal(UNKNOWN_ID, 'x', xml)).toEqual(refusals.unsupportedMediaType)
  })

  it('400: refuses a body that is not JSON before it looks for the merchant', async () => {
    expect(await refusal(UNKNOWN_ID, '{', json)).toEqual(refusedField('body', 'is not valid JSON', 'FORMAT'))
  })

  it('404: refuses an unknown merchant before values are judged', async () => {
    expect(await refusal(UNKNOWN_ID, '{"email":"x"}', json)).toEqual(refusals.notFound)
  })

  it.each(['{"email":"x"}', '{"currency":"EUR"}', '{"currency":"\\u0000"}'])(
    '403: refuses an app that is no member before the values of %s are judged',
    async (payload) => {
      const { id } = await createTestMerchant(payments, member)
      expect(await refusal(id, payload, { ...json, ...stranger.headers })).toEqual(refusals.forbidden)
    },
  )

  it('400: refuses a wrong value of a member', async () => {
    const { id } = await createTestMerchant(payments, member)
    expect(await refusal(id, '{"email":"x"}', json)).toEqual(
      refusedField('email', 'must be an e-mail address', 'FORMAT'),
    )
  })

  it('409: refuses when the row stays locked', async () => {
    const { id } = await createTestMerchant(payments, member)
    await payments.database.db.transaction().execute(async (trx) => {
      await trx.selectFrom('merchants').select('id').where('id', '=', id).forUpdate().execute()
      const response = await inject('PUT', `/merchants/${id}`, { name: 'New' })
      expect([statusAndBody(response), response.headers['retry-after']]).toEqual([refusals.conflict, '1'])
    })
  })
})

describe('other methods and paths', () => {
  it.each([
    ['DELETE', '/merchants'],
    ['GET', '/merchants'],
    ['PATCH', '/me'],
    ['POST', '/me'],
    ['GET', '/ME'],
    ['GET', '/nothing'],
    ['GET', '/merchants/%'],
    ['GET', '/merchants/%E0%A4%A'],
    ['GET', '/merchants/%FF'],
  ] as const)('404: answers %s %s', async (method, url) => {
    const response = await payments.app.inject({ method, url })
    expect(response.statusCode).toBe(404)
    expect(response.json()).toEqual(errorBodies.endpointNotFound)
    expect(response.headers['x-status-code']).toBe('ENDPOINT_NOT_FOUND')
    expect(response.headers['cache-control']).toBe('no-store')
  })
})
