"""A Gymnasium loop with random actions on a synthetic market.

The product of its rewards is its NAV, and the last bar is drawn as a picture.
"""

import gymnasium
import numpy as np

env = gymnasium.make("openoutcry.gym:OpenOutcry/Synthetic-v2", n_symbols=6, n_days=500, render_mode="rgb_array")
observation, info = env.reset(seed=0)
env.action_space.seed(0)
rewards = []
done = False
while not done:
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
    rewards.append(reward)
    done = terminated or truncated

print(f"{len(rewards)} steps, NAV {info['nav']:.3f}, product of rewards {np.prod(1 + np.array(rewards)):.3f}")
print(f"picture of shape {env.render().shape}")
