import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cardOf, hiddenFields, setUpFactor, signIn, type TestBrowser, wayTo } from '../../test/browser.ts'
import { openTestConsole, type TestConsole } from '../../test/console-app.ts'
import { openLossyConsole } from '../../test/lost-answers.ts'
import { createUser, type RunningService, startService, type TestUser } from '../../test/services.ts'

let auth: RunningService
let test: TestConsole
let ada: TestUser
const XSS = '"><img-src=x>@example.com'
const UTC = /\d{4}-\d\d-\d\d \d\d:\d\d UTC/g
const UUID = /[0-9a-f]{8}-[0-9a-f-]{27}/g
const plain = (text: string) => text.replaceAll(UTC, 'TIME').replaceAll(UUID, 'ID')
beforeAll(async () => {
  auth = await startService('auth', { AUTH_OPERATOR_SIGN_IN_AS: 'true' })
  test = await openTestConsole([auth])
  ada = await createUser(auth, 'ada@example.com')
})
afterAll(async () => {
  await test.close()
  await auth.stop()
})

const namesOf = (html: string) =>
  [...html.replaceAll('<wbr>', '').matchAll(/<a class="main-link" href="[^"]*">([^<]*)<\/a>/g)].map(([, name]) => name)
const newUser = () => createUser(auth, `${crypto.randomUUID()}@example.com`)
const toastOf = (html: string) => /<div class="toast">.*?<span>([^<]*)<\/span>/.exec(html)?.[1]
/** The status and text of the page for a missing object. */
const NOT_FOUND = [404, '404 Not found There is no such object, or it is gone. Go to the overview']
const sends = async (browser: TestBrowser, path: string, fields: Readonly<Record<string, string>> = {}) => {
  await browser.open(path)
  const page = await browser.submit(path, fields)
  return [page.firstStatus, page.path, toastOf(page.html)]
}

describe('GET /users', () => {
  it('200: finds a user by the beginning of an email and by id', async () => {
    const browser = await test.signedIn('viewer')
    for (const search of ['ada@', ada.id]) {
      const page = await browser.open(`/users?${new URLSearchParams({ search })}`)
      expect([page.status, namesOf(page.html)]).toEqual([200, ['ada@example.com']])
    }
  })

  it('200: says when nobody is found, and shows what was searched for as text', async () => {
    const page = await (await test.signedIn('viewer')).open(`/users?${new URLSearchParams({ search: XSS })}`)
    const text = 'Users Email, phone, name, id or provider id Filter No user matches. Clear the filters'
    expect([page.status, page.text]).toEqual([200, text])
    expect(page.html).toContain('value="&quot;&gt;&lt;img-src=x&gt;@example.com"')
  })
})

describe('GET /users/:userId', () => {
  it('200: shows why a user cannot sign in, then all that support asks for', async () => {
    const { id, email } = await newUser()
    const page = await (await test.signedIn('support')).open(`/users/${id}`)
    expect(page.status).toBe(200)
    expect(plain(page.text)).toBe(
      `Users ID@example.com ID since TIME Ban… Your role support may not use “Secure”, “Sign in as”, “Change”, “Console role”, “Delete”; admin may. Nothing keeps this user from signing in Sessions No open session. Second factors and passkeys This user has no second factor and no passkey. Messages No mail and no SMS was sent. Audit user_signedup by service_role · TIME Profile Email ID@example.com Confirmed Role authenticated Last sign-in never Changed TIME Identities email ID@example.com since TIME Metadata Of the application { "provider": "email", "providers": [ "email" ] } Of the user {}`.replace(
        'ID@example.com',
        email.replaceAll(UUID, 'ID'),
      ),
    )
  })

  it('200: begins with what keeps a banned user out', async () => {
    const { id, email } = await newUser()
    await auth.command('users', 'ban', email, '--for', '24h')
    const page = await (await test.signedIn('viewer')).open(`/users/${id}`)
    expect(page.status).toBe(200)
    expect(page.text.replaceAll(UTC, 'TIME').replaceAll(UUID, 'ID')).toMatch(
      /^Users ID@example\.com Banned ID since TIME Your role viewer may not use “End the ban”; support and admin may\. Your role viewer may not use .+; admin may\. Why this user cannot sign in Banned until TIME \. Sessions /,
    )
  })

  it('200: offers each role only what it may do, and to nobody but admins what concerns an operator', async () => {
    const operator = await createUser(auth, 'operator@example.com', 'support')
    const offered = async (role: 'viewer' | 'support' | 'admin', id: string) => {
      const { status, html } = await (await test.signedIn(role)).open(`/users/${id}`)
      expect(status).toBe(200)
      return [...html.matchAll(/href="\/users\/[^/"]+\/([a-z-]+)" data-ask/g)].map(([, name]) => name)
    }
    expect([
      await offered('viewer', ada.id),
      await offered('support', ada.id),
      await offered('admin', ada.id),
      await offered('support', operator.id),
    ]).toEqual([[], ['ban'], ['change', 'console-role', 'ban', 'secure', 'sign-in-link', 'delete'], []])
  })

  it('200: stays small for metadata that are nested deeply, and cuts large ones', async () => {
    const [nested, large] = [await newUser(), await newUser()]
    const update = 'UPDATE auth.users SET raw_user_meta_data = $2 WHERE id = $1'
    const deep = `{"a":${'['.repeat(60)}${Array(5_000).fill('0').join(',')}${']'.repeat(60)}}`
    const long = `{"a":"${'x'.repeat(200_000)}"}`
    await auth.query(update, [nested.id, deep])
    await auth.query(update, [large.id, long])
    const browser = await test.signedIn('viewer')
    const [ofNested, ofLarge] = [await browser.open(`/users/${nested.id}`), await browser.open(`/users/${large.id}`)]
    expect([ofNested.status, ofNested.html.length < 50_000, ofNested.text.endsWith(deep)]).toEqual([200, true, true])
    const cut = `${long.slice(0, 100_000)}… (the first 100000 of ${long.length} characters)`
    expect([ofLarge.status, ofLarge.text.endsWith(`Of the user ${cut}`)]).toEqual([200, true])
  })

  it('404: shows an error page for an unknown user', async () => {
    const page = await (await test.signedIn('viewer')).open('/users/7d1f7c7e-6a53-4b51-b1c7-8a2b0a4f8a00')
    expect([page.status, page.text]).toEqual([
      404,
      '404 Not found There is no such object, or it is gone. Go to the overview',
    ])
  })
})

describe('POST /users/:userId/:change', () => {
  it('303: bans after a question that names the user, ends the ban, and tells both', async () => {
    const { id, email } = await newUser()
    const browser = await test.signedIn('support')
    expect((await browser.open(`/users/${id}/ban`)).text).toBe(
      `Ban ${email} ${email} can no longer sign in, and all their sessions pause. You can end the ban at any time. The sessions then continue, unless you sign the user out everywhere. For how long an hour a day seven days thirty days until an operator ends the ban Ban Cancel`,
    )
    expect(await sends(browser, `/users/${id}/ban`, { duration: '168h' })).toEqual([
      303,
      `/users/${id}`,
      'The user is banned',
    ])
    expect(plain(cardOf(browser.page(), 'Why this user cannot sign in'))).toBe(
      'Why this user cannot sign in Banned until TIME .',
    )
    expect(await sends(browser, `/users/${id}/end-ban`)).toEqual([303, `/users/${id}`, 'The ban is over'])
    expect(cardOf(browser.page(), 'Nothing keeps this user from signing in')).toBe(
      'Nothing keeps this user from signing in',
    )
  })

  it('422: shows the refusal of auth for a malformed duration', async () => {
    const { id, email } = await newUser()
    const browser = await test.signedIn('support')
    await browser.open(`/users/${id}/ban`)
    const page = await browser.submit(`/users/${id}/ban`, { duration: 'soon' })
    expect([page.status, page.text.replace(/^Ban \S+ (.*?) \S+@example.com can.*$/, '$1')]).toEqual([
      422,
      expect.stringContaining('duration'),
    ])
    expect(page.text.startsWith(`Ban ${email}`)).toBe(true)
  })

  it('503: a lost answer to a new password asks for the same password again', async () => {
    const { id, email } = await newUser()
    const lossy = await openLossyConsole(auth, auth, await test.signedIn('admin'))
    await lossy.browser.open(`/users/${id}/change`)
    expect(lossy.browser.page().text).toContain('Empty: the password stays.')
    lossy.loseAnswers(true)
    const typed = { email, phone: '', password: 'another horse 9' }
    const page = await lossy.browser.submit(`/users/${id}/change`, typed)
    expect([page.status, page.html.includes(typed.password)]).toEqual([503, false])
    expect(page.html).toContain('type="password" value="" autocomplete="new-password" inputmode="text" required')
    expect(page.text).toContain('Type the same password again. The console does not keep it.')
    lossy.loseAnswers(false)
    expect((await lossy.browser.submit(`/users/${id}/change`, typed)).path).toBe(`/users/${id}`)
    await lossy.close()
  })

  it('303: ends one session of several, then all', async () => {
    const { id, email } = await createUser(auth, 'grace@example.com', 'viewer')
    const [one, two, browser] = [test.browser(), test.browser(), await test.signedIn('admin')]
    await signIn(one, email)
    await signIn(two, email)
    const { html } = await browser.open(`/users/${id}`)
    const [newest = ''] = [...html.matchAll(/href="([^"]+end-session\?session=[^"]+)"/g)].map(([, path = '']) => path)
    await browser.open(newest)
    const page = await browser.submit(`/users/${id}/end-session`)
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([303, `/users/${id}`, 'The session is over'])
    expect([(await one.open('/')).path, (await two.open('/')).path]).toEqual(['/', '/sign-in?ended=1'])
    expect(await sends(browser, `/users/${id}/end-sessions`)).toEqual([
      303,
      `/users/${id}`,
      'All sessions of the user are over',
    ])
    expect(wayTo(await one.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('303: removes a second factor, so that its user signs in without it and can set up another', async () => {
    const { id, email } = await createUser(auth, 'hedy@example.com', 'support')
    const [theirs, later] = [test.browser(), test.browser()]
    await signIn(theirs, email)
    await theirs.open('/sign-in/factor')
    const codeOf = await setUpFactor(theirs)
    await theirs.submit('/sign-in/factor', { code: codeOf(0) })
    expect(wayTo(await signIn(later, email))).toEqual([303, '/sign-in/factor'])
    const browser = await test.signedIn('admin')
    const { html } = await browser.open(`/users/${id}`)
    const [, question = ''] = /href="([^"]+reset-factor\?factor=[^"]+)"/.exec(html) ?? []
    expect((await browser.open(question)).text.replaceAll(UUID, 'ID')).toBe(
      `Remove the second factor Trestle console ${email} signs in without this second factor from now on. Make sure that the user asks for this, and not another person: anyone with the password can sign in. This cannot be undone. The user can set up a new one. Remove Cancel`,
    )
    const page = await browser.submit(`/users/${id}/reset-factor`)
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([
      303,
      `/users/${id}`,
      'The second factor is removed',
    ])
    expect(cardOf(page, 'Second factors and passkeys')).toBe(
      'Second factors and passkeys This user has no second factor and no passkey.',
    )
    const again = test.browser()
    expect(wayTo(await signIn(again, email))).toEqual([303, '/'])
    expect((await again.open('/sign-in/factor')).text).toContain('Set up your authenticator app')
  })

  it('303: ends the sessions that were made since a time, once the time has an offset', async () => {
    const { id, email } = await createUser(auth, 'mary@example.com', 'viewer')
    const theirs = test.browser()
    await signIn(theirs, email)
    const browser = await test.signedIn('admin')
    await browser.open(`/users/${id}/secure`)
    const refused = await browser.submit(`/users/${id}/secure`, { since: '2026-01-02 03:04' })
    expect([refused.status, plain(refused.text)]).toEqual([
      422,
      `Secure the account of ${email} Sessions, passkeys, second factors and recovery codes that were made since this time are removed. Older ones stay. Changes of address that wait for a code end. ${email} can sign in again in any way that stays. The password, the addresses and the linked identities stay: make sure that they belong to the user. This cannot be undone. since: must be an RFC 3339 time with an offset Since When another person may have signed in, with an offset from UTC: 2026-01-02T03:04:00+01:00, or 2026-01-02T02:04:00Z. Secure Cancel`,
    ])
    expect(await sends(browser, `/users/${id}/secure`, { since: '2026-01-02T03:04:05Z' })).toEqual([
      303,
      `/users/${id}`,
      'The account is secured. Ended: sessions 1, passkeys 0, second factors 0',
    ])
    expect(wayTo(await theirs.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('303: changes an address, and sends nothing while nothing is changed', async () => {
    const { id } = await newUser()
    const browser = await test.signedIn('admin')
    const same = await browser.open(`/users/${id}/change`)
    const [, email = ''] = /name="email" type="email" value="([^"]+)"/.exec(same.html) ?? []
    const refused = await browser.submit(`/users/${id}/change`, { email, phone: '', password: '' })
    expect([refused.status, plain(refused.text)]).toEqual([
      422,
      'Change ID@example.com A new address is not confirmed, so the user cannot sign in by it before it is. You can confirm it here. A new password ends all sessions of the user. Passkeys that these sessions have registered are removed. Unchanged fields keep their values. Nothing is changed yet. Email Phone With the code of the country, in digits. New password Empty: the password stays. Change Cancel',
    ])
    const typed = { email: 'new-name@example.com', phone: '', password: '' }
    expect(await sends(browser, `/users/${id}/change`, typed)).toEqual([303, `/users/${id}`, 'The user is changed'])
    expect(plain(cardOf(browser.page(), 'Profile'))).toBe(
      'Profile Email new-name@example.com Not confirmed Role authenticated Last sign-in never Changed TIME',
    )
  })

  it('303: changes the phone alone where the address was changed since the form was opened', async () => {
    const { id } = await newUser()
    const [browser, other] = [await test.signedIn('admin'), await test.signedIn('admin')]
    const { html } = await browser.open(`/users/${id}/change`)
    const [, email = ''] = /name="email" type="email" value="([^"]+)"/.exec(html) ?? []
    await sends(other, `/users/${id}/change`, { email: 'moved@example.com', phone: '', password: '' })
    const page = await browser.submit(`/users/${id}/change`, { email, phone: '36301112233', password: '' })
    expect([page.firstStatus, plain(cardOf(page, 'Profile'))]).toEqual([
      303,
      'Profile Email moved@example.com Not confirmed Phone +36301112233 Not confirmed Role authenticated Last sign-in never Changed TIME',
    ])
  })

  it('303: sends an invitation again after a question that masks its address', async () => {
    const browser = await test.signedIn('support')
    await sends(browser, '/users/invite', { email: 'rosalind@example.com' })
    const [, path = ''] = /href="(\/users\/[^"]+)">rosalind@<wbr>example/.exec(browser.page().html) ?? []
    const [, question = ''] = /href="([^"]+resend\?message=[^"]+)"/.exec((await browser.open(path)).html) ?? []
    expect((await browser.open(question)).text).toBe(
      'Send the mail again A new message of the same kind goes to r…@example.com. Its code and its link replace those of earlier messages. Send again Cancel',
    )
    const page = await browser.submit(`${path}/resend`)
    expect([page.firstStatus, page.path, toastOf(page.html)]).toEqual([303, path, 'The message waits to be sent'])
    expect(page.text.match(/mail to r…@example\.com/g)).toEqual(['mail to r…@example.com', 'mail to r…@example.com'])
  })

  it('200: shows a link that signs in as the user, once, and writes the reason into the audit log', async () => {
    const { id, email } = await newUser()
    const browser = await test.signedIn('admin')
    await browser.open(`/users/${id}/sign-in-link`)
    const page = await browser.submit(`/users/${id}/sign-in-link`, { reason: 'ticket 7' })
    const [, link = ''] = /data-copy="([^"]+)"/.exec(page.html) ?? []
    expect([page.status, page.text.startsWith(`Sign in as ${email} The link is good once`)]).toEqual([200, true])
    expect(link).toMatch(/^http:\/\/auth\.test\/verify\?/)
    expect(plain(cardOf(await browser.open(`/users/${id}`), 'Audit'))).toBe(
      'Audit operator.users.sign-in-as by admin-ID@example.com · TIME user_signedup by service_role · TIME',
    )
  })

  it('303: gives a console role', async () => {
    const { id } = await newUser()
    const browser = await test.signedIn('admin')
    expect(await sends(browser, `/users/${id}/console-role`, { role: 'support' })).toEqual([
      303,
      `/users/${id}`,
      'The console role is changed',
    ])
    expect(plain(cardOf(browser.page(), 'Profile'))).toBe(
      'Profile Email ID@example.com Confirmed Role authenticated Console role support Last sign-in never Changed TIME',
    )
  })

  it('303: deletes, and leads to the list where nothing is left', async () => {
    const [kept, removed] = [await newUser(), await newUser()]
    const browser = await test.signedIn('admin')
    const deleted = 'The user is deleted'
    expect(await sends(browser, `/users/${kept.id}/delete`, { soft: 'true' })).toEqual([
      303,
      `/users/${kept.id}`,
      deleted,
    ])
    expect(plain(cardOf(browser.page(), 'Why this user cannot sign in'))).toBe(
      'Why this user cannot sign in Deleted TIME . The user has no password. Other ways may be open.',
    )
    expect(await sends(browser, `/users/${removed.id}/delete`, { soft: 'false' })).toEqual([303, '/users', deleted])
    const gone = await browser.open(`/users/${removed.id}`)
    expect([gone.status, gone.text]).toEqual(NOT_FOUND)
  })

  it('303: makes a change once when its form is sent twice', async () => {
    const { id } = await newUser()
    const browser = await test.signedIn('support')
    const { html } = await browser.open(`/users/${id}/ban`)
    const question = html.split('class="question"')[1] ?? ''
    const hidden = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(question)?.[1] ?? ''
    const fields = { _csrf: hidden('_csrf'), _key: hidden('_key'), duration: '1h' }
    const sent = await Promise.all([1, 2].map(() => browser.post(`/users/${id}/ban`, fields)))
    expect(sent.map(({ firstStatus }) => firstStatus)).toEqual([303, 303])
    const audit = (await browser.open(`/users/${id}`)).text
    expect(audit.match(/operator\.users\.ban/g)).toEqual(['operator.users.ban'])
  })

  it('303: says that a session is over also when its form is sent twice', async () => {
    const { id, email } = await createUser(auth, 'emmy@example.com', 'viewer')
    const [theirs, browser] = [test.browser(), await test.signedIn('admin')]
    await signIn(theirs, email)
    const [, question = ''] =
      /href="([^"]+end-session\?session=[^"]+)"/.exec((await browser.open(`/users/${id}`)).html) ?? []
    const { html } = await browser.open(question)
    const fields = hiddenFields(html, `/users/${id}/end-session`)
    const sent = [
      await browser.post(`/users/${id}/end-session`, fields),
      await browser.post(`/users/${id}/end-session`, fields),
    ]
    expect(sent.map((page) => [page.path, toastOf(page.html)])).toEqual([
      [`/users/${id}`, 'The session is over'],
      [`/users/${id}`, 'The session is over'],
    ])
    expect(browser.page().text.match(/operator\.sessions\.end/g)).toEqual(['operator.sessions.end'])
    expect(wayTo(await theirs.open('/'))).toEqual([303, '/sign-in?ended=1'])
  })

  it('404: ends no session and removes no second factor of another user', async () => {
    const { id, email } = await createUser(auth, 'chien@example.com', 'support')
    const [theirs, browser] = [test.browser(), await test.signedIn('admin')]
    await signIn(theirs, email)
    await theirs.open('/sign-in/factor')
    const codeOf = await setUpFactor(theirs)
    await theirs.submit('/sign-in/factor', { code: codeOf(0) })
    const { html } = await browser.open(`/users/${id}`)
    const [, session = ''] = /end-session\?session=([^"]+)"/.exec(html) ?? []
    const [, factor = ''] = /reset-factor\?factor=([^"]+)"/.exec(html) ?? []
    const [, _csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(html) ?? []
    const answers = [
      await browser.open(`/users/${ada.id}/end-session?session=${session}`),
      await browser.post(`/users/${ada.id}/end-session`, { _csrf, _key: 'one', session }),
      await browser.open(`/users/${ada.id}/reset-factor?factor=${factor}`),
      await browser.post(`/users/${ada.id}/reset-factor`, { _csrf, _key: 'two', factor }),
    ]
    expect(answers.map(({ status, text }) => [status, text])).toEqual(Array(4).fill(NOT_FOUND))
    expect([session.length, factor.length]).toEqual([36, 36])
    expect((await theirs.open('/')).path).toBe('/')
    expect((await browser.open(`/users/${id}`)).html).toContain(`reset-factor?factor=${factor}`)
  })

  it('404: deletes nobody when a link names `..` as the session or the factor to end', async () => {
    const { id } = await newUser()
    const browser = await test.signedIn('admin')
    const [, _csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(browser.page().html) ?? []
    const sent = [
      await browser.post(`/users/${id}/end-session`, { _csrf, _key: 'one', session: '..' }),
      await browser.post(`/users/${id}/reset-factor`, { _csrf, _key: 'two', factor: '..' }),
    ]
    expect(sent.map(({ status, text }) => [status, text])).toEqual([NOT_FOUND, NOT_FOUND])
    expect((await browser.open(`/users/${id}`)).text).toContain('Nothing keeps this user from signing in')
  })

  it('404: shows an error page for a message of another user, and sends no message again', async () => {
    const browser = await test.signedIn('support')
    await sends(browser, '/users/invite', { email: 'lise@example.com' })
    const [, path = ''] = /href="(\/users\/[^"]+)">lise@<wbr>example/.exec(browser.page().html) ?? []
    const [, message = ''] = /resend\?message=([^"]+)"/.exec((await browser.open(path)).html) ?? []
    const [, _csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(browser.page().html) ?? []
    const foreign = `/users/${ada.id}/resend`
    const answers = [
      await browser.open(`${foreign}?message=${message}`),
      await browser.post(foreign, { _csrf, _key: 'k', message }),
    ]
    expect(answers.map(({ status, text }) => [status, text])).toEqual([NOT_FOUND, NOT_FOUND])
    expect(message).toHaveLength(36)
    expect((await browser.open(path)).text.match(/mail to l…@example\.com/g)).toEqual(['mail to l…@example.com'])
  })

  it('200: ignores a role that a link names', async () => {
    const { id } = await newUser()
    const { status, html } = await (await test.signedIn('admin')).open(`/users/${id}/console-role?role=admin`)
    expect(status).toBe(200)
    expect([...html.matchAll(/<option value="([^"]*)" selected/g)].map(([, value]) => value)).toEqual([''])
  })

  it.each(['"\r\nX: y"', '\0', 'ключ', ' '])(
    '400: refuses a form whose _key is %j, and calls no service',
    async (_key) => {
      const browser = await test.signedIn('support')
      const [, _csrf = ''] = /name="_csrf" value="([^"]+)"/.exec(browser.page().html) ?? []
      const page = await browser.post(`/users/${ada.id}/ban`, { _csrf, _key, duration: '1h' })
      expect([page.status, page.text]).toEqual([
        400,
        '400 Not valid A value of the form or the address is not valid. Go to the overview',
      ])
    },
  )

  it('404: shows an error page for an unknown change', async () => {
    const { id } = await newUser()
    const page = await (await test.signedIn('admin')).open(`/users/${id}/promote`)
    expect([page.status, page.text]).toEqual([404, '404 Not found There is no such page. Go to the overview'])
  })
})
