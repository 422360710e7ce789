import { Button, PasswordInput, PinInput, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ApiError, request } from '../../api.ts'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { useText } from '../../text.ts'
import type { Session } from '../../types.ts'
import { words } from './text.ts'

export function PasswordForm({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
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
      <TextInput {...signIn.input('email')} label={t.email} type="email" autoComplete="username" required />
      <PasswordInput {...signIn.input('password')} label={t.password} autoComplete="current-password" required />
      {showsCode && (
        <div>
          <Text size="sm" fw={500} mb={4}>
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
  )
}
