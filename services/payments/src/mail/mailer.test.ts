import { startMailSink } from '@trestle/testing/mail-sink.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { createMailer } from './mailer.ts'

/** A server without TLS that must not receive any mail. */
const refused = await startMailSink()
const plain = await startMailSink()
const tls = await startMailSink({ offersTls: true })
afterAll(() => Promise.all([refused, plain, tls].map((sink) => sink.close())))

const from = 'payments@example.com'
const greetingName = 'pay.example.com'
const mail = { to: 'ada@example.com', subject: 'Receipt', text: 'Thank you' }

describe('createMailer', () => {
  // ASVS 12.3.1
  it.each(['', '?requireTLS=false', '?ignoreTLS=true', '?opportunisticTLS=true'])(
    'refuses a server without TLS where TLS is required, whatever its URL says: %s',
    async (query) => {
      const url = `smtp://ada:s3cret@127.0.0.1:${refused.port}${query}`
      const mailer = createMailer({ url, from, requireTls: true, greetingName })
      await expect(mailer.send(mail)).rejects.toHaveProperty('code', 'ETLS')
      await expect(mailer.check()).rejects.toHaveProperty('code', 'ETLS')
      mailer.close()
      expect(refused.mails).toEqual([])
    },
  )

  it('sends by TLS where TLS is required, only to a server with a good certificate', async () => {
    const url = `smtp://127.0.0.1:${tls.port}`
    const distrustful = createMailer({ url, from, requireTls: true, greetingName })
    await expect(distrustful.send(mail)).rejects.toHaveProperty('code', 'ESOCKET')
    expect(tls.mails).toEqual([])
    const trustful = createMailer({ url: `${url}?tls.rejectUnauthorized=false`, from, requireTls: true, greetingName })
    await trustful.send(mail)
    const { subject, to } = await tls.take()
    expect([subject, to]).toEqual(['Receipt', [{ address: 'ada@example.com', name: '' }]])
    for (const mailer of [distrustful, trustful]) mailer.close()
  })

  it('sends without TLS to a server without TLS, where TLS is not required, and greets it by name', async () => {
    const mailer = createMailer({ url: `smtp://127.0.0.1:${plain.port}`, from, requireTls: false, greetingName })
    await mailer.send(mail)
    expect((await plain.take()).subject).toBe('Receipt')
    expect(plain.greetings).toEqual(['pay.example.com'])
    mailer.close()
  })
})
