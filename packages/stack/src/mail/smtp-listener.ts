import { once } from 'node:events'
import { SMTPServer, type SMTPServerDataStream } from 'smtp-server'
import type { LocalServer } from '../local-server.ts'
import type { MailStore } from './mail-store.ts'

const MAIL_BYTES_MAX = 10 * 1024 * 1024
const CLIENTS_MAX = 100
const CLOSE_TIMEOUT_MS = 200

/**
 * Accepts every mail on 127.0.0.1, from any sender to any recipient, and delivers none of them. It accepts any user name and
 * password. It has no TLS, because no client would trust its certificate.
 */
export async function startSmtpListener(store: Pick<MailStore, 'add'>, port: number): Promise<LocalServer> {
  const server = new SMTPServer({
    name: 'localhost',
    banner: 'Trestle mail catcher',
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: (auth, _session, done) => done(null, { user: auth.username ?? 'anyone' }),
    size: MAIL_BYTES_MAX,
    maxClients: CLIENTS_MAX,
    closeTimeout: CLOSE_TIMEOUT_MS,
    onData: (stream, session, done) => {
      const recipients = session.envelope.rcptTo.map(({ address }) => address)
      readAll(stream)
        .then((raw) => store.add(raw, recipients))
        .then(() => done(), done)
    },
  })
  // A client that aborts its connection causes an error event here. Without a listener, the error would end the process.
  server.on('error', () => undefined)
  server.listen(port, '127.0.0.1')
  await once(server.server, 'listening')
  const address = server.server.address()
  return {
    port: typeof address === 'object' && address ? address.port : port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** @throws Error with the SMTP status 552 if the mail is too large */
async function readAll(stream: SMTPServerDataStream): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) {
    // The rest of a mail that is too large is read, as SMTP requires, but not kept.
    if (!stream.sizeExceeded && Buffer.isBuffer(chunk)) chunks.push(chunk)
  }
  if (stream.sizeExceeded) throw Object.assign(new Error('The mail is too large'), { responseCode: 552 })
  return Buffer.concat(chunks)
}
