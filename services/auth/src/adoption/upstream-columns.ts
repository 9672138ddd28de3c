import { columnsOf } from './catalog.ts'
import type { Source } from './source-database.ts'

/**
 * The columns of supabase/auth, in any version up to 2.196, of the tables that this service has too. A user who may change the
 * source can add columns of our names to them, such as `users.console_role`, which makes a user an operator of the console here.
 */
export const UPSTREAM_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  users: [
    ...['instance_id', 'id', 'aud', 'role', 'email', 'encrypted_password', 'email_confirmed_at', 'invited_at'],
    ...['confirmation_token', 'confirmation_sent_at', 'recovery_token', 'recovery_sent_at', 'email_change_token_new'],
    ...['email_change', 'email_change_sent_at', 'last_sign_in_at', 'raw_app_meta_data', 'raw_user_meta_data'],
    ...['is_super_admin', 'created_at', 'updated_at', 'phone', 'phone_confirmed_at', 'phone_change'],
    ...['phone_change_token', 'phone_change_sent_at', 'confirmed_at', 'email_change_token_current'],
    ...['email_change_confirm_status', 'banned_until', 'reauthentication_token', 'reauthentication_sent_at'],
    ...['is_sso_user', 'deleted_at', 'is_anonymous'],
  ],
  identities: [
    ...['id', 'provider_id', 'user_id', 'identity_data', 'provider', 'last_sign_in_at', 'created_at', 'updated_at'],
    ...['email'],
  ],
  sessions: [
    ...['id', 'user_id', 'created_at', 'updated_at', 'factor_id', 'aal', 'not_after', 'refreshed_at', 'user_agent'],
    ...['ip', 'tag', 'oauth_client_id', 'refresh_token_hmac_key', 'refresh_token_counter', 'scopes'],
  ],
  mfa_factors: [
    ...['id', 'user_id', 'friendly_name', 'factor_type', 'status', 'created_at', 'updated_at', 'secret', 'phone'],
    ...['last_challenged_at', 'web_authn_credential', 'web_authn_aaguid', 'last_webauthn_challenge_data'],
  ],
  mfa_amr_claims: [...['id', 'session_id', 'authentication_method', 'created_at', 'updated_at']],
}

/** The columns that others have added to these tables, such as `users.tenant_id`. No import copies them. */
export async function listOtherColumns({ db, names }: Source): Promise<readonly string[]> {
  const others: string[] = []
  for (const [table, known] of Object.entries(UPSTREAM_COLUMNS)) {
    for (const column of await columnsOf(db, names.schema, table))
      if (!known.includes(column)) others.push(`${table}.${column}`)
  }
  return others
}
