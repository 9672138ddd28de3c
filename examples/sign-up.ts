// Signs a user up, confirms the address with the link of the mail, signs in, refreshes the session and signs out. Start the
// stack first (npm start), then: npx node examples/sign-up.ts
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { findAddress } from '../packages/stack/src/status/status-file.ts'

const auth = await findAddress('AUTH_URL')
const mails = await findAddress('MAIL_URL')

const Session = z.object({ access_token: z.string(), refresh_token: z.string(), expires_in: z.int() })
const MailList = z.object({ messages: z.array(z.object({ id: z.int() })) })
const Mail = z.object({ subject: z.string(), text: z.string() })
const MailpitList = z.object({ messages: z.array(z.object({ ID: z.string() })) })
const MailpitMail = z.object({ Subject: z.string(), Text: z.string() })

/** Ends the program with a line that says why: it calls servers, so a stack trace would tell nothing. */
function fail(reason: string): never {
  console.error(reason)
  process.exit(1)
}

async function post(path: string, body: unknown, token?: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
  const response = await fetch(auth + path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!response.ok) fail(`POST ${path}: ${response.status} ${await response.text()}`)
  return response
}

async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url)
  if (!response.ok) fail(`GET ${url}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** The newest mail to an address in the mail catcher of `npm start`. */
async function findCaught(address: string): Promise<z.infer<typeof Mail> | undefined> {
  const [newest] = MailList.parse(await getJson(`${mails}/messages?to=${encodeURIComponent(address)}`)).messages
  return newest && Mail.parse(await getJson(`${mails}/messages/${newest.id}`))
}

/** The same in Mailpit, which `docker compose up` starts. */
async function findInMailpit(address: string): Promise<z.infer<typeof Mail> | undefined> {
  const query = encodeURIComponent(`to:"${address}"`)
  const [newest] = MailpitList.parse(await getJson(`${mails}/api/v1/search?query=${query}`)).messages
  if (newest === undefined) return undefined
  const { Subject, Text } = MailpitMail.parse(await getJson(`${mails}/api/v1/message/${newest.ID}`))
  return { subject: Subject, text: Text }
}

/** Waits up to ten seconds for the mail, because a job sends it after the answer. */
async function mailTo(address: string): Promise<z.infer<typeof Mail>> {
  const isMailpit = (await fetch(`${mails}/api/v1/info`)).ok
  for (let attempt = 0; attempt < 50; attempt++) {
    const mail = await (isMailpit ? findInMailpit(address) : findCaught(address))
    if (mail) return mail
    await pause(200)
  }
  return fail(`no mail to ${address}`)
}

const email = `ada-${Date.now()}@example.com`
const password = 'analytical engine 1843'

await post('/signup', { email, password })
console.log(`signed up as ${email}`)

const mail = await mailTo(email)
const link = /https?:\/\/\S+\/verify\?\S+/.exec(mail.text)?.[0]
if (link === undefined) fail('the mail has no link')
console.log(`mail: ${mail.subject}`)

const verified = await fetch(link, { redirect: 'manual' })
console.log(`link followed: ${verified.status} to ${verified.headers.get('location')?.split('#')[0]}`)

const session = Session.parse(await (await post('/token?grant_type=password', { email, password })).json())
console.log(`signed in for ${session.expires_in} s`)

const user = await fetch(`${auth}/user`, { headers: { authorization: `Bearer ${session.access_token}` } })
console.log(`user: ${z.object({ id: z.uuid() }).parse(await user.json()).id}`)

const { refresh_token } = session
const refreshed = Session.parse(await (await post('/token?grant_type=refresh_token', { refresh_token })).json())
console.log('session refreshed')

await post('/logout', {}, refreshed.access_token)
console.log('signed out')
