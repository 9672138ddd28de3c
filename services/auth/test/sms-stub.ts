import { type StubAnswer, startStubProvider } from '@trestle/testing/stub-provider.ts'
import { vi } from 'vitest'

/** An SMS that the gateway received. */
export interface ReadSms {
  /** The E.164 digits of the phone. */
  readonly to: string
  readonly text: string
  readonly code: string
  readonly channel: 'sms' | 'whatsapp'
}

/** A stub of the Twilio gateway that records requests. */
export interface SmsStub {
  /** The settings of a service that uses the stub. */
  readonly settings: Readonly<Record<string, string>>
  /** All received SMS, including refused ones. */
  readonly messages: readonly ReadSms[]
  /** The answer to all later requests. */
  answer: StubAnswer | Promise<StubAnswer>
  /** Waits for the next unread SMS to a phone (E.164 digits). */
  read(to: string): Promise<ReadSms>
  close(): Promise<void>
}

/** The answer of a gateway that accepts all messages. */
export const SMS_TAKEN: StubAnswer = { status: 201, body: { sid: 'SM1', status: 'queued' } }

/** Starts an SMS gateway on loopback. */
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
