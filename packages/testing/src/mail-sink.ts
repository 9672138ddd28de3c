import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { portOf } from './free-port.ts'

export interface MailSink {
  readonly host: string
  readonly port: number
  readonly mails: readonly Email[]
  /** Resolves with the next matching mail. A mail that arrived earlier and was not taken yet also counts. */
  take(matches?: (mail: Email) => boolean, timeoutMs?: number): Promise<Email>
  /** The host names in the greetings of clients. */
  readonly greetings: readonly string[]
  /** While this is `true`, every mail is refused with a temporary error. */
  refuse: boolean
  /** The answer to every recipient, such as `550 5.1.1 no such user`. If it is `undefined`, recipients are accepted. */
  recipientAnswer: string | undefined
  close(): Promise<void>
}

interface Waiter {
  readonly matches: (mail: Email) => boolean
  readonly resolve: (mail: Email) => void
}

export interface MailSinkOptions {
  /** Whether the server offers TLS, with a self-signed certificate. */
  readonly offersTls?: boolean
}

/** Starts an SMTP server for tests on a free loopback port. @throws Error if the server does not listen on a port */
export async function startMailSink({ offersTls = false }: MailSinkOptions = {}): Promise<MailSink> {
  const mails: Email[] = []
  const greetings: string[] = []
  const untaken: Email[] = []
  const waiters = new Set<Waiter>()
  const deliver = (mail: Email) => {
    mails.push(mail)
    const waiter = [...waiters].find(({ matches }) => matches(mail))
    if (!waiter) return untaken.push(mail)
    waiters.delete(waiter)
    return waiter.resolve(mail)
  }
  const server = new SMTPServer({
    disabledCommands: offersTls ? [] : ['STARTTLS'],
    authOptional: true,
    onMailFrom: (_address, { hostNameAppearsAs }, done) => {
      greetings.push(String(hostNameAppearsAs))
      done()
    },
    onRcptTo: (_address, _session, done) => done(toRefusal(sink.recipientAnswer)),
    onData: (stream, _session, done) => {
      buffer(stream).then(async (bytes) => {
        if (sink.refuse) return done(Object.assign(new Error('try again later'), { responseCode: 451 }))
        deliver(await PostalMime.parse(bytes))
        done()
      }, done)
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const sink: MailSink = {
    host: '127.0.0.1',
    port: portOf(server.server),
    mails,
    greetings,
    refuse: false,
    recipientAnswer: undefined,
    take: (matches = () => true, timeoutMs = 10_000) =>
      new Promise((resolve, reject) => {
        const index = untaken.findIndex(matches)
        const [found] = index === -1 ? [] : untaken.splice(index, 1)
        if (found) return resolve(found)
        const waiter: Waiter = {
          matches,
          resolve: (mail) => {
            clearTimeout(timer)
            resolve(mail)
          },
        }
        const timer = setTimeout(() => {
          waiters.delete(waiter)
          reject(new Error(`no such mail within ${timeoutMs} ms; ${mails.length} have come`))
        }, timeoutMs)
        waiters.add(waiter)
      }),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
  return sink
}

/** Converts an SMTP answer to the error that the library expects. */
function toRefusal(answer: string | undefined): Error | null {
  const [, status, text] = /^(\d+) (.*)$/.exec(answer ?? '') ?? []
  return status === undefined ? null : Object.assign(new Error(text), { responseCode: Number(status) })
}
