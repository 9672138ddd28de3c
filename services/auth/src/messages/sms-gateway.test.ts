import { createOutbound, type Outbound } from '@trestle/common/outbound/outbound.ts'
import { type StubAnswer, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { serverSettings } from '../config/process.ts'
import { messagebird } from './gateways/messagebird.ts'
import { textlocal } from './gateways/textlocal.ts'
import { twilio } from './gateways/twilio.ts'
import { vonage } from './gateways/vonage.ts'
import { createSmsGateway, type Sms, SmsRefused } from './sms-gateway.ts'

let answer: StubAnswer = {}
const peer = await startStubProvider(() => answer)
afterAll(() => peer.close())

const apiUrl = peer.url
const account = { apiUrl, accountSid: 'AC1', authToken: 'token', sender: 'MG1', contentSid: 'HX1' }
const gateways = {
  twilio: twilio(account),
  'twilio, from a number': twilio({ ...account, sender: '15005550006', contentSid: undefined }),
  'twilio, from a name': twilio({ ...account, sender: 'Trestle' }),
  messagebird: messagebird({ apiUrl, accessKey: 'key', originator: 'Trestle' }),
  textlocal: textlocal({ apiUrl, apiKey: 'key', sender: 'TRSTL' }),
  vonage: vonage({ apiUrl, apiKey: 'key', apiSecret: 'secret', from: 'Trestle' }),
}
const sms: Sms = { to: '14155550100', text: 'Your code is 123456', code: '123456', channel: 'sms' }
const endpoints: Readonly<Record<string, readonly [path: string, authorization: string | undefined]>> = {
  twilio: ['/2010-04-01/Accounts/AC1/Messages.json', `Basic ${Buffer.from('AC1:token').toString('base64')}`],
  messagebird: ['/messages', 'AccessKey key'],
  textlocal: ['/send', undefined],
  vonage: ['/sms/json', undefined],
}
const whatsapp = { channel: 'whatsapp' } as const
const text = 'Your code is 123456'

type Name = keyof typeof gateways
const send = async (name: Name, change: Partial<Sms> = {}) => {
  const gateway = await createSmsGateway(gateways[name], createOutbound([]))
  return gateway.send({ ...sms, ...change })
}

describe('the request to a gateway', () => {
  it.each<[Name, Partial<Sms>, Record<string, string>]>([
    ['twilio', {}, { To: '+14155550100', MessagingServiceSid: 'MG1', Body: text }],
    [
      'twilio',
      whatsapp,
      {
        To: 'whatsapp:+14155550100',
        MessagingServiceSid: 'MG1',
        Body: text,
        ContentSid: 'HX1',
        ContentVariables: '{"1":"123456"}',
      },
    ],
    ['twilio, from a number', {}, { To: '+14155550100', From: '+15005550006', Body: text }],
    ['twilio, from a number', whatsapp, { To: 'whatsapp:+14155550100', From: 'whatsapp:+15005550006', Body: text }],
    ['twilio, from a name', {}, { To: '+14155550100', From: 'Trestle', Body: text }],
    [
      'messagebird',
      {},
      { originator: 'Trestle', body: text, recipients: '14155550100', type: 'sms', datacoding: 'unicode' },
    ],
    ['textlocal', {}, { sender: 'TRSTL', apikey: 'key', message: text, numbers: '14155550100' }],
    ['vonage', {}, { from: 'Trestle', to: '14155550100', text, api_key: 'key', api_secret: 'secret' }],
    [
      'vonage',
      { text: 'Код 1' },
      { from: 'Trestle', to: '14155550100', text: 'Код 1', api_key: 'key', api_secret: 'secret', type: 'unicode' },
    ],
  ])('carries what %s documents: %j', async (name, change, form) => {
    answer = { status: 500 }
    await send(name, change).catch(() => {})
    const request = peer.requests.at(-1)
    const [path, authorization] = endpoints[gateways[name].name] ?? []
    expect([request?.method, request?.url]).toEqual(['POST', path])
    expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(request?.headers.authorization).toBe(authorization)
    expect(Object.fromEntries(new URLSearchParams(request?.body))).toEqual(form)
  })
})

describe('a gateway that does not answer', () => {
  it.each(Object.keys(gateways) as Name[])('%s is given up before the request that waits for it', async (name) => {
    const waits: number[] = []
    const silent: Pick<Outbound, 'send'> = {
      send: async ({ timeoutMs }) => {
        waits.push(timeoutMs)
        throw new Error('no answer')
      },
    }
    const gateway = await createSmsGateway(gateways[name], { ...createOutbound([]), ...silent })
    await expect(gateway.send(sms)).rejects.toThrow('no answer')
    const requestMs = serverSettings.API_MAX_REQUEST_DURATION.parse(undefined)
    expect(waits).toEqual([expect.toSatisfy((waitMs: number) => waitMs < requestMs)])
  })
})

describe('the answer of a gateway', () => {
  it.each<[Name, StubAnswer, string]>([
    ['twilio', { status: 201, body: { sid: 'SM1', status: 'queued' } }, 'SM1'],
    ['twilio', { status: 200, body: { sid: 'SM2', status: 'accepted', message: null } }, 'SM2'],
    ['messagebird', { status: 201, body: { id: 'b1', recipients: { totalSentCount: 1 } } }, 'b1'],
    ['textlocal', { body: { status: 'success', messages: [{ id: 77, recipient: 1 }] } }, '77'],
    ['vonage', { body: { 'message-count': '1', messages: [{ status: '0', 'message-id': 'v1' }] } }, 'v1'],
  ])('%s %j: returns the id of the message', async (name, given, id) => {
    answer = given
    expect(await send(name)).toBe(id)
  })

  it.each<[Name, StubAnswer, string, string]>([
    ['twilio', { status: 400, body: { code: 21211, message: 'bad number', status: 400 } }, 'bad number', '21211'],
    [
      'twilio',
      { status: 201, body: { sid: 'SM1', status: 'failed', error_code: 30003, error_message: 'unreachable' } },
      'unreachable',
      '30003',
    ],
    ['twilio', { status: 201, body: { sid: 'SM1', status: 'undelivered' } }, 'status undelivered', 'undelivered'],
    ['twilio', { status: 400, body: {} }, 'status 400', '400'],
    [
      'messagebird',
      { status: 422, body: { errors: [{ code: 9, description: 'no originator' }] } },
      'no originator',
      '9',
    ],
    ['messagebird', { status: 201, body: { id: 'b1', recipients: { totalSentCount: 0 } } }, 'nothing was sent', '201'],
    [
      'textlocal',
      { body: { status: 'failure', errors: [{ code: 4, message: 'no recipients' }] } },
      'no recipients',
      '4',
    ],
    ['textlocal', { body: { status: 'failure' } }, 'status failure', '200'],
    ['vonage', { body: { messages: [{ status: '6', 'error-text': 'not routable' }] } }, 'not routable', '6'],
    ['vonage', { body: { messages: [{ status: '1' }] } }, 'status 1', '1'],
  ])('%s %j: reports a refusal', async (name, given, reason, code) => {
    answer = given
    const error = await send(name).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(SmsRefused)
    expect(error).toEqual(new SmsRefused(gateways[name].name, { reason, code }))
  })

  it.each<[Name, StubAnswer, string]>([
    ['twilio', { status: 401, body: { code: 20003, message: 'Authenticate' } }, 'twilio answered 401 (20003)'],
    ['twilio', { status: 404, body: { code: 20404, message: 'no /Accounts/AC1' } }, 'twilio answered 404 (20404)'],
    ['twilio', { status: 429, body: { code: 20429 } }, 'twilio answered 429 (20429)'],
    ['twilio', { status: 503, body: '<html>' }, 'twilio answered 503'],
    ['twilio', { status: 201, body: '<html>' }, 'twilio answered 201'],
    ['twilio', { status: 400, body: [] }, 'twilio answered 400'],
    ['messagebird', { status: 503, body: '<html>' }, 'messagebird answered 503'],
    ['textlocal', { status: 200, body: [] }, 'textlocal answered 200'],
    ['vonage', { status: 200, body: { messages: [] } }, 'vonage answered 200'],
  ])('%s %j: reports a temporary failure', async (name, given, message) => {
    answer = given
    const error = await send(name).catch((thrown: unknown) => thrown)
    expect(error).not.toBeInstanceOf(SmsRefused)
    expect(error).toEqual(new Error(message))
  })

  it('keeps phone, text and code out of errors and shortens their text', async () => {
    answer = { status: 400, body: { code: 1, message: 'x'.repeat(500) } }
    const error = await send('twilio').catch((thrown: unknown) => thrown)
    expect(error).toEqual(new SmsRefused('twilio', { reason: 'x'.repeat(200), code: '1' }))
    expect(String(error)).not.toMatch(/14155550100|123456/)
  })
})
