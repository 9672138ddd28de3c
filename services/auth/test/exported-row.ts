/** An exported row of GoTrue's users table. Its identities have their id in three different forms. */
export function exportedRow(id: string, identityId: string) {
  return {
    instance_id: '00000000-0000-0000-0000-000000000000',
    id,
    email: 'a@b.c',
    phone: null,
    encrypted_password: '$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy',
    raw_app_meta_data: { provider: 'google', providers: ['google'] },
    raw_user_meta_data: null,
    confirmation_token: '',
    is_super_admin: null,
    recovery_token: 'x',
    identities: [
      {
        id: identityId,
        provider: 'google',
        provider_id: '1',
        identity_data: { email: 'A@b.c', sub: '9' },
        created_at: null,
      },
      { id: '2', provider: 'github' },
      { provider: 'email', id: 'whatever' },
    ],
  }
}
