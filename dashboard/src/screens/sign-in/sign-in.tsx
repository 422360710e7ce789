import { Alert, Button, PasswordInput, PinInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ApiError, request } from '../../api.ts'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { SignedOutPage } from '../../components/signed-out-page.tsx'
import { texts, useText } from '../../text.ts'
import type { Session } from '../../types.ts'

const words = texts({
  en: {
    title: 'Sign in',
    email: 'E-mail',
    password: 'Password',
    signIn: 'Sign in',
    code: 'Code from your authenticator app',
    ended: 'Your session ended. Sign in again to continue where you left off.',
    help: 'Forgot your password? An admin can send you a link to set a new one.',
  },
  pt: {
    title: 'Entrar',
    email: 'E-mail',
    password: 'Senha',
    signIn: 'Entrar',
    code: 'Código do seu aplicativo autenticador',
    ended: 'Sua sessão expirou. Entre de novo para continuar de onde parou.',
    help: 'Esqueceu a senha? Um administrador pode enviar um link para criar uma nova.',
  },
})

export default function SignIn({
  hasEnded,
  onSignedIn,
}: {
  /** The session ended without a sign-out. */
  hasEnded: boolean
  onSignedIn: (session: Session) => void
}) {
  const t = useText(words)
  const signIn = useMutationForm({
    initialValues: { email: '', password: '', code: '' },
    send: async ({ email, password, code }) =>
      await request<Session>('POST', '/session', { email, password, ...(code !== '' && { code }) }),
    onSuccess: onSignedIn,
  })
  const codeInput = signIn.input('code')
  const needsCode = signIn.error instanceof ApiError && signIn.error.code === 'second_factor_needed'
  const [showsCode, setShowsCode] = useState(false)
  if (needsCode && !showsCode) setShowsCode(true)
  return (
    <SignedOutPage title={t.title}>
      <ActionForm
        action={{ ...signIn, error: needsCode ? null : signIn.error }}
        buttons={
          <>
            <Button type="submit" loading={signIn.isPending} fullWidth>
              {t.signIn}
            </Button>
            <Text size="xs" c="dimmed">
              {t.help}
            </Text>
          </>
        }
      >
        {hasEnded && (
          <Alert color="yellow" role="status">
            {t.ended}
          </Alert>
        )}
        <TextInput {...signIn.input('email')} label={t.email} type="email" autoComplete="username" required />
        <PasswordInput {...signIn.input('password')} label={t.password} autoComplete="current-password" required />
        {showsCode && (
          <div>
            <Text size="sm" fw={500} mb={4} id="code-label">
              {t.code}
            </Text>
            <PinInput
              length={6}
              type="number"
              oneTimeCode
              autoFocus
              aria-label={t.code}
              value={codeInput.value}
              onChange={codeInput.onChange}
              onComplete={(code) => {
                signIn.setValues({ code })
                signIn.mutate()
              }}
            />
          </div>
        )}
      </ActionForm>
    </SignedOutPage>
  )
}
