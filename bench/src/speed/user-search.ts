import { openBench } from '../bench.ts'
import { insertUsers, request, signAdminToken } from '../fixtures.ts'
import { readCount, say, time, timesOf } from '../program.ts'
import { distributionOf } from '../statistics.ts'

// Measures how long an admin waits for a list of users: `node bench/src/speed/user-search.ts [number of users]`. The default is
// one million.

const GOAL_MS = 100
const ROUNDS = 11
const DEPTH = 50

/** The measured requests, with reasons. Without an index, all but the first two would read every user. */
const searches: readonly (readonly [filter: string, what: string])[] = [
  ['', 'no filter, newest first'],
  ['example', 'a part of a third of all emails'],
  ['oldcompany', 'a part of emails of the oldest 6 % alone'],
  ['zoe.smith12', 'the beginning of a few emails'],
  ['smith77777@', 'a part of one email'],
  ['77777', 'digits of emails and phones'],
  ['1415', 'the beginning of some phones'],
  ['james smith', 'a full name'],
  ['rt wri', 'a part of a full name'],
  ['иван', 'nobody, in another script'],
  ['...', 'nobody, without letters'],
  ['qqqq', 'nobody'],
  ['jo', 'two characters: a beginning'],
  ['1', 'one character: a beginning'],
  ['~', 'one character that nobody begins with'],
]

const users = readCount('users', 1_000_000)
await using bench = await openBench()
const auth = await bench.deploy('auth', { env: { AUTH_MAILER_AUTOCONFIRM: 'true' } })
await time(`made ${users} users`, async () => {
  await auth.execute(insertUsers(users))
  await auth.execute('VACUUM ANALYZE')
})
const server = await auth.serve()
const headers = { authorization: `Bearer ${signAdminToken(auth.secrets.AUTH_JWT_SECRET)}` }
say(`first page of 50 by cursor, over HTTP: median and slowest of ${ROUNDS}`)
for (const [filter, what] of searches) {
  const path = `/admin/users?cursor=&filter=${encodeURIComponent(filter)}`
  await report(JSON.stringify(filter), what, () => request(server.url + path, { headers }))
}
let next = '/admin/users?cursor=&per_page=1000&filter=example'
await report('"example"', `each of ${DEPTH} pages of 1000`, async () => {
  const answer = await request(server.url + next, { headers })
  next = /<([^>]*)>/.exec(answer.headers.get('link') ?? '')?.[1] ?? next
})

async function report(filter: string, what: string, ask: () => Promise<unknown>): Promise<void> {
  const { median, largest } = distributionOf(await timesOf(what.startsWith('each') ? DEPTH : ROUNDS, ask))
  const verdict = median <= GOAL_MS ? 'ok' : `above ${GOAL_MS} ms`
  say(
    `${filter.padEnd(15)} ${median.toFixed(1).padStart(7)} ms ${largest.toFixed(1).padStart(7)} ms  ${verdict}  ${what}`,
  )
}
