// The secrets of one message: the token of the link (high entropy, SHA-256) and the typed code (few digits, keyed and salted).
// Both secrets are in one row, so using either one ends both. A new message of the same kind replaces the row.
//
// `session_id` is the session that requested a nonce. The nonce ends with the session. Other messages have none: a change of
// address keeps its session in the row of the user, because its messages can be resent.
//
// `is_resent` marks a message of a change of address that anybody may have had resent. It is stored in addition to the message
// that a session requested, and does not end that message.
import { type Kysely, sql } from 'kysely'
import type { MigrationSource } from '../migration.ts'

export const createOneTimeTokens: MigrationSource = (names) => ({
  replaces: ['one_time_tokens'],
  async up(db: Kysely<unknown>) {
    const tokens = names.id('one_time_tokens')
    await sql`
      CREATE TABLE ${tokens} (
        id uuid CONSTRAINT ${names.local('one_time_tokens_pkey')} PRIMARY KEY DEFAULT ${names.id('uuid_v7')}(),
        user_id uuid NOT NULL,
        kind text NOT NULL,
        relates_to text COLLATE "C" NOT NULL,
        link_hash bytea,
        otp_hash bytea,
        otp_salt bytea,
        guesses integer NOT NULL DEFAULT 0,
        is_resent boolean NOT NULL DEFAULT false,
        flow_state_id uuid,
        session_id uuid,
        sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
        expires_at timestamptz NOT NULL,
        CONSTRAINT ${names.local('one_time_tokens_user_fkey')}
          FOREIGN KEY (user_id) REFERENCES ${names.id('users')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('one_time_tokens_session_fkey')}
          FOREIGN KEY (session_id) REFERENCES ${names.id('sessions')} (id) ON DELETE CASCADE,
        CONSTRAINT ${names.local('one_time_tokens_kind')} CHECK (kind IN ('confirmation', 'invitation', 'recovery',
          'email_change_new', 'email_change_current', 'sms', 'phone_change', 'reauthentication')),
        CONSTRAINT ${names.local('one_time_tokens_user_key')} UNIQUE (user_id, kind, is_resent)
      ) WITH (fillfactor = 80)`.execute(db)
    await sql`CREATE INDEX ${names.local('one_time_tokens_link_idx')} ON ${tokens} (link_hash)`.execute(db)
    await sql`CREATE INDEX ${names.local('one_time_tokens_relates_idx')} ON ${tokens} (relates_to, kind)`.execute(db)
    await sql`
      CREATE INDEX ${names.local('one_time_tokens_session_idx')} ON ${tokens} (session_id)
      WHERE session_id IS NOT NULL`.execute(db)
    // Clean-up repeatedly deletes a few rows. Tokens do not expire in the order of their ids (a code by SMS lives a minute, a
    // link a day), so a separate index starts with the expired ones.
    await sql`CREATE INDEX ${names.local('one_time_tokens_expires_idx')} ON ${tokens} (expires_at)`.execute(db)
  },
  async down(db: Kysely<unknown>) {
    await sql`DROP TABLE ${names.id('one_time_tokens')}`.execute(db)
  },
})
