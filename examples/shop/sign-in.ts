import { AuthClient } from '@supabase/auth-js'

declare const AUTH_URL: string
/** Keeps the session in this browser, and refreshes it. */
const auth = new AuthClient({ url: AUTH_URL, storageKey: 'nordhavn', detectSessionInUrl: false })
const form = document.forms.namedItem('sign-in')
/** The shop's server knows the user by a cookie with the access token, and draws the page anew for another user. */
auth.onAuthStateChange(async (_event, session) => {
  const value = session?.access_token ?? ''
  if (value === ((await cookieStore.get('token'))?.value ?? '')) return
  await cookieStore.set({ name: 'token', value, sameSite: 'lax' })
  if (document.body.dataset.email !== (session?.user.email ?? '')) location.reload()
})
document.querySelector('#sign-out')?.addEventListener('click', () => auth.signOut({ scope: 'local' }))
form?.addEventListener('submit', async (event) => {
  event.preventDefault()
  const fields = new FormData(form, event.submitter)
  const field = (name: string) => String(fields.get(name) ?? '')
  const [email, password, token] = [field('email'), field('password'), field('code')]
  const enter = () => auth[fields.has('new') ? 'signUp' : 'signInWithPassword']({ email, password })
  const { data, error } = await (token ? auth.verifyOtp({ type: 'signup', email, token }) : enter())
  const text = error?.message ?? (data.session ? '' : 'Enter the code that we have mailed to you.')
  if (!error && !data.session) form.className = 'mailed'
  form.querySelector('[role=status]')?.replaceChildren(text)
})
