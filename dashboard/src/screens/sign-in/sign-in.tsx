import { Alert, Button, PasswordInput, PinInput, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, Refused } from '../../api.ts'
import { EntryPage } from '../../components/entry-page.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
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
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const [code, setCode] = useState('')
  const signIn = useMutation({
    mutationFn: async (withCode: { code?: string }) =>
      await ask<Session>('POST', '/session', { email, password, ...withCode }),
    onSuccess: onSignedIn,
  })
  const needsCode = signIn.error instanceof Refused && signIn.error.code === 'second_factor_needed'
  const [wasAskedForCode, setWasAskedForCode] = useState(false)
  if (needsCode && !wasAskedForCode) setWasAskedForCode(true)
  return (
    <EntryPage title={t.title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          signIn.mutate(code === '' ? {} : { code })
        }}
      >
        <Stack>
          {hasEnded && (
            <Alert color="yellow" role="status">
              {t.ended}
            </Alert>
          )}
          <TextInput
            label={t.email}
            type="email"
            autoComplete="username"
            required
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
          />
          <PasswordInput
            label={t.password}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          {wasAskedForCode && (
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
                value={code}
                onChange={setCode}
                onComplete={(value) => signIn.mutate({ code: value })}
              />
            </div>
          )}
          {signIn.isError && !needsCode && <ErrorNotice error={signIn.error} />}
          <Button type="submit" loading={signIn.isPending} fullWidth>
            {t.signIn}
          </Button>
          <Text size="xs" c="dimmed">
            {t.help}
          </Text>
        </Stack>
      </form>
    </EntryPage>
  )
}
