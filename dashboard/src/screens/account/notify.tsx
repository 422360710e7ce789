import { Alert, Checkbox, Stack, Switch, Text } from '@mantine/core'
import { useState } from 'react'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { useNotificationChoice } from '../../notifications.ts'
import { useMay } from '../../session.tsx'
import { texts, useText } from '../../text.ts'
import { playTone } from '../../tone.ts'

const words = texts({
  en: {
    title: 'Notifications in this browser',
    lead: 'While the dashboard is open in a tab, even in the background.',
    desktop: 'Show desktop notifications',
    sound: 'Play a sound',
    refused: 'The browser does not allow notifications for this address. Allow them in its settings of this site.',
    payments: 'Payments',
    minAmount: 'From this amount',
    minAmountHint: 'Empty: all payments',
    approvals: 'Withdrawals and actions that wait for approval',
    disputes: 'New disputes (MED)',
  },
  pt: {
    title: 'Avisos neste navegador',
    lead: 'Enquanto o painel estiver aberto em uma aba, mesmo em segundo plano.',
    desktop: 'Mostrar notificações na área de trabalho',
    sound: 'Tocar um som',
    refused: 'O navegador não permite notificações deste endereço. Libere nas configurações do site.',
    payments: 'Pagamentos',
    minAmount: 'A partir deste valor',
    minAmountHint: 'Vazio: todos os pagamentos',
    approvals: 'Saques e ações que aguardam aprovação',
    disputes: 'Novas contestações (MED)',
  },
})

/** What this browser notifies the user of. It asks for permission when desktop notifications are switched on. */
export function NotificationSection() {
  const t = useText(words)
  const may = useMay()
  const { choice, choose } = useNotificationChoice()
  const [isRefused, setRefused] = useState(false)
  const isOn = choice.desktop || choice.sound
  const switchDesktop = async (isWanted: boolean) => {
    const isAllowed = !isWanted || ('Notification' in window && (await Notification.requestPermission()) === 'granted')
    setRefused(!isAllowed)
    choose({ desktop: isWanted && isAllowed })
  }
  return (
    <Section title={t.title}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t.lead}
        </Text>
        <Switch
          label={t.desktop}
          checked={choice.desktop}
          onChange={(event) => void switchDesktop(event.currentTarget.checked)}
        />
        {isRefused && (
          <Alert color="orange" role="status">
            {t.refused}
          </Alert>
        )}
        <Switch
          label={t.sound}
          checked={choice.sound}
          onChange={(event) => {
            choose({ sound: event.currentTarget.checked })
            if (event.currentTarget.checked) playTone()
          }}
        />
        {isOn && (
          <Stack gap="xs" pl="md">
            <Checkbox
              label={t.payments}
              checked={choice.payments}
              onChange={(event) => choose({ payments: event.currentTarget.checked })}
            />
            {choice.payments && (
              <MoneyInput
                label={t.minAmount}
                description={t.minAmountHint}
                value={choice.minAmount}
                onChange={(minAmount) => choose({ minAmount })}
                maw={220}
              />
            )}
            {may('withdrawal.read') && (
              <Checkbox
                label={t.approvals}
                checked={choice.approvals}
                onChange={(event) => choose({ approvals: event.currentTarget.checked })}
              />
            )}
            {may('infraction.read') && (
              <Checkbox
                label={t.disputes}
                checked={choice.disputes}
                onChange={(event) => choose({ disputes: event.currentTarget.checked })}
              />
            )}
          </Stack>
        )}
      </Stack>
    </Section>
  )
}
