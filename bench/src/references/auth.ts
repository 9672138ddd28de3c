// The least that a competent server of sessions does: one statement a request, over the tables of the auth service, with the
// same written rows as the service. No log, no hooks, no limits.
import { createHmac, createSecretKey, hash, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { hash as hashPassword, verify as verifyPassword } from '@node-rs/argon2'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { LOGIN, OPEN_SESSION, REFRESH, SIGN_UP, USER } from './auth-statements.ts'
import { openLanes } from './lanes.ts'
import { listen, setting } from './listen.ts'
import { type UserRow, userView } from './user-view.ts'

interface LoginRow {
  readonly id: string
  readonly encrypted_password: string
}

type SessionRow = UserRow & { readonly session_id: string; readonly aal: string; readonly amr: readonly unknown[] }

const LIFETIME_SECONDS = 3_600
const TOKEN_BYTES = 24

/** OWASP's parameters, as in the service (auth reference: Passwords). */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

const Credentials = z.object({ email: z.email(), password: z.string().min(6) })
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

app.post<{ Querystring: { grant_type?: string } }>('/token', async (request, reply) =>
  request.query.grant_type === 'password' ? signIn(request, reply) : refresh(request, reply),
)

app.post('/signup', async (request, reply) => {
  const body = Credentials.safeParse(request.body)
  if (!body.success) return reply.code(400).send({ error_code: 'validation_failed' })
  const password = await hashPassword(body.data.password, COST)
  const token = generateToken()
  const values = [...origin(token, request, 'user_signedup', 'team'), body.data.email, password, randomUUID()]
  const [session] = await write<SessionRow>({ name: 'signup', text: SIGN_UP, values })
  return session ? sessionView(session, token) : reply.code(422).send({ error_code: 'user_already_exists' })
})

async function signIn(request: FastifyRequest, reply: FastifyReply) {
  const body = Credentials.safeParse(request.body)
  if (!body.success) return reply.code(400).send({ error_code: 'validation_failed' })
  const [user] = await read<LoginRow>({ name: 'login', text: LOGIN, values: [body.data.email] })
  if (!user || !(await verifyPassword(user.encrypted_password, body.data.password))) {
    return reply.code(400).send({ error_code: 'invalid_credentials' })
  }
  const token = generateToken()
  const values = [...origin(token, request, 'login', 'account'), user.id]
  const [session] = await write<SessionRow>({ name: 'session', text: OPEN_SESSION, values })
  return session ? sessionView(session, token) : reply.code(400).send({ error_code: 'invalid_credentials' })
}

async function refresh(request: FastifyRequest, reply: FastifyReply) {
  const body = Refresh.safeParse(request.body)
  if (!body.success) return reply.code(400).send({ error_code: 'validation_failed' })
  const child = generateToken()
  const values = [hashOf(body.data.refresh_token), hashOf(child), request.headers['user-agent'], request.ip]
  const [session] = await write<SessionRow>({ name: 'refresh', text: REFRESH, values })
  return session ? sessionView(session, child) : reply.code(400).send({ error_code: 'refresh_token_not_found' })
}

function origin(token: string, request: FastifyRequest, action: string, logType: string): readonly unknown[] {
  return [hashOf(token), request.headers['user-agent'], request.ip, action, logType]
}

function generateToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url')
}

function hashOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

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

/** The claims of a token that this server reads. */
const Claims = z.object({ sub: z.string(), exp: z.number() })
type Claims = Readonly<z.infer<typeof Claims>>

/** Signs and verifies access tokens by HS256 (RFC 7515, RFC 7519). */
function createSigner(secret: string) {
  const key = createSecretKey(Buffer.from(secret))
  const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
  const macOf = (text: string) => createHmac('sha256', key).update(text).digest()
  return {
    sign: (claims: object): string => {
      const text = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      return `${text}.${macOf(text).toString('base64url')}`
    },
    /** The claims of a token; undefined if the token is invalid. */
    verify: (token: string): Claims | undefined => {
      const end = token.lastIndexOf('.')
      const mac = Buffer.from(token.slice(end + 1), 'base64url')
      const wanted = macOf(token.slice(0, end))
      if (mac.length !== wanted.length || !timingSafeEqual(mac, wanted)) return undefined
      const claims = Claims.parse(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()))
      return claims.exp > Date.now() / 1_000 ? claims : undefined
    },
  }
}
