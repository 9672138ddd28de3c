// The least that a competent server of sessions does: one statement a request, over the tables of the auth service, writing
// the rows that its contract asks for. No log, no hooks, no limits.
import { hash, randomBytes } from 'node:crypto'
import fastify from 'fastify'
import { z } from 'zod'
import { createSigner } from './access-token.ts'
import { REFRESH, USER } from './auth-statements.ts'
import { openLanes } from './lanes.ts'
import { listen, setting } from './listen.ts'
import { type UserRow, userView } from './user-view.ts'

type SessionRow = UserRow & { readonly session_id: string; readonly aal: string; readonly amr: readonly unknown[] }

const LIFETIME_SECONDS = 3_600
const TOKEN_BYTES = 24

const Refresh = z.object({ refresh_token: z.string().regex(/^[\w-]{12,}$/) })

const { read, write } = await openLanes(setting('DATABASE_URL'))
const { sign, verify } = createSigner(setting('JWT_SECRET'))
const issuer = setting('ISSUER')
const app = fastify({ logger: false })

app.get('/user', async (request, reply) => {
  const claims = verify(request.headers.authorization?.slice('Bearer '.length) ?? '')
  if (claims === undefined) return reply.code(403).send({ error_code: 'bad_jwt' })
  const [user] = await read<UserRow>({ name: 'user', text: USER, values: [claims.sub] })
  return user ? userView(user) : reply.code(403).send({ error_code: 'user_not_found' })
})

app.post('/token', async (request, reply) => {
  const body = Refresh.safeParse(request.body)
  if (!body.success) return reply.code(400).send({ error_code: 'validation_failed' })
  const child = randomBytes(TOKEN_BYTES).toString('base64url')
  const hashes = [body.data.refresh_token, child].map((token) => hash('sha256', token, 'buffer'))
  const [session] = await write<SessionRow>({
    name: 'refresh',
    text: REFRESH,
    values: [...hashes, request.headers['user-agent'], request.ip],
  })
  return session ? sessionView(session, child) : reply.code(400).send({ error_code: 'refresh_token_not_found' })
})

function sessionView(session: SessionRow, refreshToken: string) {
  const now = Math.floor(Date.now() / 1_000)
  const claims = {
    iss: issuer,
    sub: session.id,
    aud: session.aud,
    iat: now,
    exp: now + LIFETIME_SECONDS,
    email: session.email ?? '',
    phone: session.phone ?? '',
    app_metadata: session.raw_app_meta_data,
    user_metadata: session.raw_user_meta_data,
    role: session.role,
    aal: session.aal,
    amr: session.amr,
    session_id: session.session_id,
    is_anonymous: session.is_anonymous,
  }
  return {
    access_token: sign(claims),
    token_type: 'bearer',
    expires_in: LIFETIME_SECONDS,
    expires_at: claims.exp,
    refresh_token: refreshToken,
    user: userView(session),
  }
}

await listen(app)
