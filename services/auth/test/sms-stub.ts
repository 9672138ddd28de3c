import { type StubAnswer, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { vi } from 'vitest'

/** An SMS as the gateway took it. */
export interface ReadSms {
  /** E.164 digits. */
  readonly to: string
  readonly text: string
  readonly code: string
  readonly channel: 'sms' | 'whatsapp'
}

/** A gateway (Twilio) that keeps the requests that it gets. */
export interface SmsStub {
  /** Settings of a service that uses it. */
  readonly settings: Readonly<Record<string, string>>
  /** Every SMS that has come, also those that were refused. */
  readonly messages: readonly ReadSms[]
  /** The answer to every later request. */
  answer: StubAnswer | Promise<StubAnswer>
  /** Waits for the next SMS to a phone (E.164 digits) that was not read yet. */
  read(to: string): Promise<ReadSms>
  close(): Promise<void>
}

/** The answer of a gateway that accepts everything. */
export const SMS_TAKEN: StubAnswer = { status: 201, body: { sid: 'SM1', status: 'queued' } }

/** An SMS gateway on loopback. */
export async function startSmsStub(): Promise<SmsStub> {
  const messages: ReadSms[] = []
  const unread: ReadSms[] = []
  const peer = await startStubProvider(({ body }) => {
    const sms = parse(body)
    messages.push(sms)
    unread.push(sms)
    return stub.answer
  })
  const stub: SmsStub = {
    settings: {
      AUTH_SMS_PROVIDER: 'twilio',
      AUTH_SMS_TWILIO_ACCOUNT_SID: 'AC1',
      AUTH_SMS_TWILIO_AUTH_TOKEN: 'token',
      AUTH_SMS_TWILIO_MESSAGE_SERVICE_SID: 'MG1',
      AUTH_SMS_TWILIO_API_URL: peer.url,
    },
    messages,
    answer: SMS_TAKEN,
    read: (to) =>
      vi.waitFor(
        () => {
          const index = unread.findIndex((sms) => sms.to === to)
          const [found] = index === -1 ? [] : unread.splice(index, 1)
          if (!found) throw new Error(`no SMS to ${to}; ${messages.length} have come`)
          return found
        },
        { timeout: 60_000 },
      ),
    close: () => peer.close(),
  }
  return stub
}

function parse(body: string): ReadSms {
  const form = new URLSearchParams(body)
  const [, prefix, to = ''] = /^(whatsapp:)?\+(\d+)$/.exec(form.get('To') ?? '') ?? []
  const text = form.get('Body') ?? ''
  return { to, text, code: /\d{6,10}/.exec(text)?.[0] ?? '', channel: prefix === undefined ? 'sms' : 'whatsapp' }
}
