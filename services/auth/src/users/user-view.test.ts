import { describe, expect, it } from 'vitest'
import { factorBody, identityBody, userBody } from '../../test/bodies.ts'
import type { Factor } from '../factors/factor.ts'
import type { Identity } from '../identities/identity.ts'
import type { User } from './user.ts'
import { UserView, viewUser } from './user-view.ts'

const at = (second: number) => `2026-01-02T03:04:0${second}.123456+00:00`
const bare: User = {
  id: '6f9619ff-8b86-4d01-b42d-00cf4fc964ff',
  audience: 'authenticated',
  role: 'authenticated',
  email: null,
  emailAsWritten: null,
  phone: null,
  passwordHash: '$argon2id$…',
  emailConfirmedAt: null,
  phoneConfirmedAt: null,
  confirmedAt: null,
  invitedAt: null,
  confirmationSentAt: null,
  recoverySentAt: null,
  emailChange: null,
  emailChangeSentAt: null,
  emailChangeConfirmStatus: 0,
  phoneChange: null,
  phoneChangeSentAt: null,
  reauthenticationSentAt: null,
  lastSignInAt: null,
  appMetadata: {},
  userMetadata: {},
  bannedUntil: null,
  deletedAt: null,
  isAnonymous: true,
  isSsoUser: false,
  consoleRole: null,
  pendingSince: null,
  createdAt: at(1),
  updatedAt: at(2),
}
const identity: Identity = {
  id: '11111111-1111-4111-8111-111111111111',
  userId: bare.id,
  provider: 'email',
  providerId: bare.id,
  data: { sub: bare.id, email: 'A@example.com' },
  email: 'a@example.com',
  lastSignInAt: at(3),
  createdAt: at(1),
  updatedAt: at(2),
}
const factor: Factor = {
  id: '22222222-2222-4222-8222-222222222222',
  friendlyName: 'app',
  factorType: 'totp',
  status: 'verified',
  phone: null,
  lastChallengedAt: null,
  createdAt: at(1),
  updatedAt: at(2),
}
const wire = (view: unknown) => JSON.stringify(view)

describe('viewUser', () => {
  it('shows only the members that every user has for an empty user', () => {
    expect(wire(viewUser({ user: bare, identities: [], factors: [] }))).toBe(
      wire({
        id: bare.id,
        aud: 'authenticated',
        role: 'authenticated',
        email: '',
        phone: '',
        app_metadata: {},
        user_metadata: {},
        identities: [],
        created_at: at(1),
        updated_at: at(2),
        is_anonymous: true,
      }),
    )
  })

  it('has every member in the order of the reference', () => {
    const full: User = {
      ...bare,
      email: 'a@example.com',
      emailAsWritten: 'A@example.com',
      phone: '14155550100',
      emailConfirmedAt: at(1),
      phoneConfirmedAt: at(2),
      confirmedAt: at(1),
      invitedAt: at(3),
      confirmationSentAt: at(4),
      recoverySentAt: at(5),
      emailChange: 'b@example.com',
      emailChangeSentAt: at(6),
      emailChangeConfirmStatus: 1,
      phoneChange: '14155550101',
      phoneChangeSentAt: at(7),
      reauthenticationSentAt: at(8),
      lastSignInAt: at(9),
      appMetadata: { provider: 'email', providers: ['email'] },
      userMetadata: { nothing: null },
      bannedUntil: at(8),
      deletedAt: at(9),
      isAnonymous: false,
      isSsoUser: true,
      pendingSince: at(1),
    }
    const view = viewUser({ user: full, identities: [identity], factors: [factor] })
    expect(wire(view)).toBe(
      wire({
        id: bare.id,
        aud: 'authenticated',
        role: 'authenticated',
        email: 'A@example.com',
        email_confirmed_at: at(1),
        invited_at: at(3),
        phone: '14155550100',
        phone_confirmed_at: at(2),
        confirmation_sent_at: at(4),
        confirmed_at: at(1),
        recovery_sent_at: at(5),
        new_email: 'b@example.com',
        email_change_sent_at: at(6),
        new_phone: '14155550101',
        phone_change_sent_at: at(7),
        reauthentication_sent_at: at(8),
        last_sign_in_at: at(9),
        app_metadata: { provider: 'email', providers: ['email'] },
        user_metadata: { nothing: null },
        factors: [
          {
            id: factor.id,
            created_at: at(1),
            updated_at: at(2),
            status: 'verified',
            friendly_name: 'app',
            factor_type: 'totp',
            phone: '',
            last_challenged_at: null,
          },
        ],
        identities: [
          {
            identity_id: identity.id,
            id: bare.id,
            user_id: bare.id,
            identity_data: { sub: bare.id, email: 'A@example.com' },
            provider: 'email',
            last_sign_in_at: at(3),
            created_at: at(1),
            updated_at: at(2),
            email: 'a@example.com',
          },
        ],
        created_at: at(1),
        updated_at: at(2),
        banned_until: at(8),
        deleted_at: at(9),
        is_anonymous: false,
      }),
    )
    // The documented schema must have all members in the same order.
    expect(Object.keys(UserView.shape)).toEqual(Object.keys(view))
    expect(UserView.strict().safeParse(view).success).toBe(true)
  })

  it('accepts an id of any form that a uuid column takes', () => {
    const view = viewUser({
      user: { ...bare, id: '11111111-1111-1111-1111-111111111111' },
      identities: [],
      factors: [],
    })
    expect(UserView.parse(view)).toEqual(view)
  })

  it('shows the time of a change only while one is pending', () => {
    const done = { ...bare, emailChangeSentAt: at(6), phoneChangeSentAt: at(7) }
    expect(wire(viewUser({ user: done, identities: [], factors: [] }))).toBe(
      wire(viewUser({ user: bare, identities: [], factors: [] })),
    )
  })

  it('leaves out the email of an identity without one, and the name of a factor without one', () => {
    const [nameless, mailless] = [
      { ...factor, friendlyName: '', phone: '14155550100' },
      { ...identity, email: null, lastSignInAt: null },
    ]
    const view: unknown = JSON.parse(wire(viewUser({ user: bare, identities: [mailless], factors: [nameless] })))
    expect(view).toEqual(
      userBody({
        id: bare.id,
        app_metadata: {},
        factors: [factorBody({ id: factor.id, phone: '14155550100' })],
        identities: [
          identityBody({
            identity_id: identity.id,
            id: bare.id,
            user_id: bare.id,
            identity_data: { sub: bare.id, email: identity.data.email },
            provider: 'email',
            last_sign_in_at: undefined,
          }),
        ],
        is_anonymous: true,
      }),
    )
    expect(wire(view)).not.toMatch(/"email":"a|friendly_name|last_sign_in_at/)
  })
})
